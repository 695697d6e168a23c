/*
 * One thread at a time. Tells the topic's readers how far it has come: marks (lib/links/feed_mark.h) on every
 * partition, at most every 100 ms, while the outbox is empty behind the relay.
 *
 * The order makes them true: PostgreSQL's clock is read first, then the outbox; when that read left nothing behind and
 * all of it was acked, everything committed before the clock was read is on the topic. A transaction that is still open
 * has committed nothing: it holds back its own rows and no mark.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_OUTBOX_OUTBOX_PROGRESS_H
#define WAYMARK_SERVICES_LINKS_API_OUTBOX_OUTBOX_PROGRESS_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/metrics.h"
#include "lib/net/pg_conn.h"
#include "services/links-api/outbox/outbox_publisher.h"

#define OUTBOX_PROGRESS_MS 100

struct outbox_progress {
	struct outbox_publisher *publisher; /* borrowed */
	struct metric *marks;
	int64_t due_steady_us;
	int64_t as_of_us; /* of the round that goes on; 0: no mark is due */
};

void outbox_progress_init(struct outbox_progress *progress, struct outbox_publisher *publisher,
                          struct metrics *metrics);

/* Before each reading of the outbox: reads the database's clock if a mark is due. Errors of pg_conn_query. */
enum err outbox_progress_begin(struct outbox_progress *progress, struct pg_conn *conn,
                               int64_t now_steady_us) MUST_CHECK;

/* After that reading: nothing was left behind by it, and all of it was acked. generation: of Redis' content. */
void outbox_progress_tell(struct outbox_progress *progress, int64_t generation, int64_t now_steady_us);

/* How long the relay may sleep: 1 to OUTBOX_PROGRESS_MS. */
int64_t outbox_progress_wait_ms(const struct outbox_progress *progress, int64_t now_steady_us);

#endif
