/*
 * Publishes the rows of one read of the outbox in windows: rows that may be in flight together,
 * which are those up to the second event of any slug. A window goes to Redis, then to Kafka, and its
 * acked rows are recorded before the next window is sent. Used by the relay's thread only.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_OUTBOX_OUTBOX_WINDOW_H
#define WAYMARK_SERVICES_LINKS_API_OUTBOX_OUTBOX_WINDOW_H

#include "lib/base/err.h"
#include "lib/base/metrics.h"

struct outbox_batch;
struct outbox_cache_updater;
struct outbox_publisher;
struct outbox_session;
struct thread;

/* All but the metrics are the caller's and borrowed. */
struct outbox_window {
	struct outbox_session *session;
	struct outbox_publisher *publisher;
	struct outbox_cache_updater *updater;
	/* Ends the wait when it stops. */
	struct thread *thread;
	struct metric *published;
	struct metric *failures;
};

void outbox_window_init(struct outbox_window *window, struct metrics *metrics);

/*
 * Publishes batch, which was read while the session held its lock. On an error the rows that were
 * not acked stay in the outbox. ERR_CONFLICT: the lock was lost.
 */
enum err outbox_window_publish(struct outbox_window *window,
                               const struct outbox_batch *batch) MUST_CHECK;

#endif
