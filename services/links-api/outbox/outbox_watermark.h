/*
 * Publishes watermarks (lib/links/watermark.h), at most every 100 ms and only while the outbox is
 * empty. A watermark is the time up to which consumers have seen all changes.
 *
 * The order of steps makes that true. The relay reads PostgreSQL's clock first and then the outbox.
 * If that read left no row behind and Kafka acked all of them, every change committed before the
 * clock was read is on the topic. An open transaction has committed nothing yet, so it does not
 * delay the watermark.
 *
 * All these changes also stand below the ends that the watermark names:
 *   - what this relay published, because acks move the ends;
 *   - what an earlier relay published and removed from the outbox before a read, because the ends
 *     are queried after that read. Such a relay may be late, so the query is repeated until a read
 *     was complete and all its rows were acked;
 *   - a later relay has published nothing that the read missed, because the lock is confirmed
 *     after it.
 *
 * Not thread-safe.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_OUTBOX_OUTBOX_WATERMARK_H
#define WAYMARK_SERVICES_LINKS_API_OUTBOX_OUTBOX_WATERMARK_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/metrics.h"
#include "lib/postgres/fenced_lock.h"
#include "lib/postgres/pg_conn.h"
#include "services/links-api/outbox/outbox_publisher.h"

#define OUTBOX_WATERMARK_INTERVAL_MS 100

struct outbox_watermark {
	/* Borrowed. */
	struct outbox_publisher *publisher;
	struct metric *published;
	int64_t due_steady_us;
	/* Database time of the running pass; 0 = no watermark is due. */
	int64_t as_of_us;
	/* No change of an earlier relay can stand beyond the ends. */
	bool has_settled;
	/* The ends are not queried before. */
	int64_t query_steady_us;
};

void outbox_watermark_init(struct outbox_watermark *watermark, struct outbox_publisher *publisher,
                           struct metrics *metrics);

/* Call after this relay has acquired the lock: another one may have published meanwhile. */
void outbox_watermark_reset(struct outbox_watermark *watermark);

/*
 * Call before reading the outbox: reads the database's clock if a watermark is due. Errors of
 * pg_conn_query.
 */
enum err outbox_watermark_begin(struct outbox_watermark *watermark, struct pg_conn *conn,
                                int64_t now_steady_us) MUST_CHECK;

/*
 * Call after that read and before its rows are sent: queries the ends if necessary, at most 100 ms.
 * is_complete: the read left no row behind.
 */
void outbox_watermark_refresh_ends(struct outbox_watermark *watermark, bool is_complete,
                                   int64_t now_steady_us);

/* Call if not all rows of a read were acked. */
void outbox_watermark_unsettle(struct outbox_watermark *watermark);

/*
 * Call after a read that left no row behind, when all its rows were acked. generation: of the Redis
 * caches. version_base: of the database's epoch. Publishes nothing if the lock has been lost.
 */
void outbox_watermark_publish(struct outbox_watermark *watermark, int64_t generation,
                              int64_t version_base, const struct fenced_lock *lock,
                              struct pg_conn *conn, int64_t now_steady_us);

/* How long the relay may sleep: 1 to OUTBOX_WATERMARK_INTERVAL_MS. */
int64_t outbox_watermark_wait_ms(const struct outbox_watermark *watermark, int64_t now_steady_us);

#endif
