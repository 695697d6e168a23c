/*
 * One thread at a time, but for the last two. The batch that is being stored and published, by a thread of its
 * own, while the loop gathers the next one. There is never more than one: the order in which batches are stored is the
 * order in which they were gathered, and one that fails takes the next one, which builds on it, with it.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_STORING_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_STORING_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/background.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "services/analytics-consumer/batch.h"
#include "services/analytics-consumer/ingest_metrics.h"
#include "services/analytics-consumer/progress.h"
#include "services/analytics-consumer/visit_publisher.h"
#include "services/analytics-consumer/visit_store.h"

struct storing;

/* Everything is borrowed; store and publisher are its thread's while a batch is being stored. */
struct storing_config {
	size_t batch_events;
	const char *topic;
	const char *dead_letter_topic;
	struct visit_store *store;
	struct visit_publisher *publisher;
	struct background *background; /* the loop's: when it is to end, there is one try only */
	const struct ingest_metrics *metrics;
	const struct clock *clock;
	const struct log *log;
};

struct storing *storing_new(const struct storing_config *config);
/* After storing_finish, and after the producer has been freed. NULL is allowed. */
void storing_free(struct storing *storing);

/*
 * After storing_finish. Takes what is in batch, which has batch_events of room, and leaves it empty; progress goes on as
 * if the batch had been stored and published.
 */
void storing_begin(struct storing *storing, struct batch *batch, struct progress *progress);

/* False when storing_finish would not wait. */
bool storing_is_busy(const struct storing *storing);

/* There will be no more tries after the one in hand: its partitions are taken away. */
void storing_hurry(struct storing *storing);

/*
 * Waits until the batch is stored and handed over to Kafka; OK at once when there is none. Else nothing that progress
 * was told is certain: throw the batch in hand away, and begin with what the store says.
 */
enum err storing_finish(struct storing *storing) MUST_CHECK;

/* Of the batch that was begun last. */
const struct progress *storing_progress(const struct storing *storing);

/* After storing_finish: until Kafka has acknowledged everything that was handed over; otherwise as there. */
enum err storing_settle(struct storing *storing) MUST_CHECK;

/* Safe from any thread. True while PostgreSQL refuses a batch for a reason that will not pass by itself. */
bool storing_is_refused(const struct storing *storing);
/* The same. True while Kafka does not take the dead letters of a batch, which waits for them. */
bool storing_waits_for_dead_letters(const struct storing *storing);

#endif
