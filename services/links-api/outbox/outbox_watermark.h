/*
 * Publishes watermarks (lib/links/watermark.h) to every partition of the topic, at most every 100
 * ms and only while the outbox is empty. A watermark is the time up to which consumers have seen
 * all changes.
 *
 * The order of steps makes that true. The relay reads PostgreSQL's clock first and then the outbox.
 * If that read left no row behind and Kafka acked all of them, every change committed before the
 * clock was read is on the topic. An open transaction has committed nothing yet, so it does not
 * delay the watermark. Not thread-safe.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_OUTBOX_OUTBOX_WATERMARK_H
#define WAYMARK_SERVICES_LINKS_API_OUTBOX_OUTBOX_WATERMARK_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/metrics.h"
#include "lib/postgres/pg_conn.h"
#include "services/links-api/outbox/outbox_publisher.h"

#define OUTBOX_WATERMARK_INTERVAL_MS 100

struct outbox_watermark {
	struct outbox_publisher *publisher; /* borrowed */
	struct metric *published;
	int64_t due_steady_us;
	int64_t as_of_us; /* database time of the running pass; 0 = no watermark is due */
};

void outbox_watermark_init(struct outbox_watermark *watermark, struct outbox_publisher *publisher,
                           struct metrics *metrics);

/*
 * Call before reading the outbox: reads the database's clock if a watermark is due. Errors of
 * pg_conn_query.
 */
enum err outbox_watermark_begin(struct outbox_watermark *watermark, struct pg_conn *conn,
                                int64_t now_steady_us) MUST_CHECK;

/*
 * Call after that read, if it left no row behind and all of them were acked. generation: of the
 * Redis caches. version_base: of the database's epoch.
 */
void outbox_watermark_publish(struct outbox_watermark *watermark, int64_t generation,
                              int64_t version_base, int64_t now_steady_us);

/* How long the relay may sleep: 1 to OUTBOX_WATERMARK_INTERVAL_MS. */
int64_t outbox_watermark_wait_ms(const struct outbox_watermark *watermark, int64_t now_steady_us);

#endif
