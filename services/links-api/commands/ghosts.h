/*
 * Ghosts: names of links that stand on waymark.links.v1 although the database lacks them, because a
 * restore or a failover lost the commits that made them. Copies of subscribers would keep them for
 * ever. What ends one is what ends the name of a purged link: LINK_CHANGE_PURGED, which the relay
 * follows with a tombstone. Its version is the base of this epoch, so it is above all versions of
 * the ghost and below those of a link that gets the slug later.
 *
 * A name is a ghost only if all its records are of earlier epochs: a later version is of another
 * database, with a newer epoch, or of a link that this one had a moment ago. The database is asked
 * twice: for each batch of names that was read, so that memory holds only those that it lacks, and
 * last, while nobody can write a link, in the transaction that adds the events.
 *
 *   struct ghosts *ghosts = ghosts_new(version_base, GHOSTS_MAX);
 *   while (ghosts_has_slice(ghosts)) {
 *           ghosts_read(ghosts, conn, kafka, log);
 *           do in a transaction ghosts_end_next(ghosts, conn, &outbox_id, &count); while (count > 0);
 *   }
 *   ghosts_free(ghosts);
 *
 * One thread at a time.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_COMMANDS_GHOSTS_H
#define WAYMARK_SERVICES_LINKS_API_COMMANDS_GHOSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/log.h"
#include "lib/kafka/kafka_config.h"
#include "lib/kafka/kafka_message.h"
#include "lib/postgres/pg_conn.h"

/* Names of one statement that asks which the database lacks. */
#define GHOSTS_ASK_MAX 10000
/* Names that are kept because the database lacks them: about 40 MB. */
#define GHOSTS_MAX 100000
/* Events of one transaction. */
#define GHOSTS_END_MAX 1000

struct ghosts;

/* version_base: database_epoch.link_version_base, at least 1. lacking_max: GHOSTS_MAX. */
struct ghosts *ghosts_new(int64_t version_base, size_t lacking_max);
void ghosts_free(struct ghosts *ghosts);

/*
 * The names are read in slices, so that any number of ghosts fits into memory: at first in one; when
 * lacking_max is reached, in twice as many, from the first on. False: all slices are done.
 */
bool ghosts_has_slice(const struct ghosts *ghosts);

/*
 * Reads the topic up to the end that it has now, and keeps the names of the next slice that conn's
 * database lacks. ERR_UNAVAILABLE: Kafka does not answer, or has records no more that were to be
 * read. ERR_INVALID: librdkafka rejects kafka (logged). Errors of pg_conn_query.
 */
enum err ghosts_read(struct ghosts *ghosts, struct pg_conn *conn, const struct kafka_config *kafka,
                     const struct log *log) MUST_CHECK;

/*
 * Inside a transaction: keeps others from writing links, asks for the next GHOSTS_END_MAX names of
 * the slice again, and adds events of those that are ghosts. *names: how many were asked for; 0: the
 * slice is done. *ended: how many were ghosts. They are taken out even if the caller cannot commit.
 * ERR_LIMIT: somebody has been writing links for 5 s.
 */
enum err ghosts_end_next(struct ghosts *ghosts, struct pg_conn *conn, size_t *names,
                         size_t *ended) MUST_CHECK;

/* --- the parts of ghosts_read, for tests --- */

/*
 * One record of the topic. ERR_CONFLICT: lacking_max was reached, and there are more slices now; read
 * from the beginning again. Errors of pg_conn_query.
 */
enum err ghosts_see(struct ghosts *ghosts, struct pg_conn *conn,
                    const struct kafka_message *message) MUST_CHECK;
/* After the last record; likewise. */
enum err ghosts_ask(struct ghosts *ghosts, struct pg_conn *conn) MUST_CHECK;

#endif
