/*
 * --republish-links (commands.h): publishes the state of every link again, then ends the links that
 * the database has lost (ghosts.h). The events go through the outbox at low priority, so the relay of
 * a running links-api sends them in order with all others. Not thread-safe.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_COMMANDS_REPUBLISH_H
#define WAYMARK_SERVICES_LINKS_API_COMMANDS_REPUBLISH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/log.h"
#include "lib/kafka/kafka_config.h"
#include "lib/postgres/pg_conn.h"

/*
 * Returns when Kafka has everything, however long that takes. Says on stdout what Kafka has, on
 * stderr every 10 s how far it is, and what ended it early. Errors of ghosts.h and pg_conn_query.
 */
enum err republish_run(struct pg_conn *conn, const struct kafka_config *kafka,
                       const struct log *log) MUST_CHECK;

/* --- its parts, for tests --- */

#define REPUBLISH_BATCH_MAX 1000

/* Initialise with 0. */
struct republish_cursor {
	/* The next batch begins after this link. */
	int64_t link_id;
	/* The newest row of the outbox when the last batch was added. */
	int64_t outbox_id;
	/* Links of the last batch; 0: there are no more. */
	size_t count;
};

/*
 * Adds events LINK_CHANGE_REPUBLISHED of the next links to the outbox, at low priority. Call it
 * inside a transaction. It advances cursor; the caller must restore the old value if it cannot
 * commit.
 */
enum err republish_next(struct pg_conn *conn, struct republish_cursor *cursor) MUST_CHECK;

/* Sets *is_waiting if a row of the outbox up to this ID waits for Kafka. */
enum err republish_is_waiting(struct pg_conn *conn, int64_t outbox_id, bool *is_waiting) MUST_CHECK;

#endif
