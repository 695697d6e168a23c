/*
 * One thread at a time, except for the last two functions. Stores and publishes one batch in a
 * thread of its own while the ingest loop gathers the next batch. At most one batch is being
 * written, so batches are stored in the order in which they were gathered. If a batch fails, the
 * batch gathered after it builds on offsets that were never stored: the caller must discard it too.
 *
 *   batch_writer_start(writer, &batch, &offsets);   // empties batch, advances offsets
 *   ... gather the next batch ...
 *   if (batch_writer_finish(writer) != OK)          // waits for the thread
 *           discard the next batch and start from the stored offsets
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_INGEST_BATCH_WRITER_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_INGEST_BATCH_WRITER_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/thread.h"
#include "services/analytics-consumer/ingest/ingest_metrics.h"
#include "services/analytics-consumer/publish/publish.h"
#include "services/analytics-consumer/storage/batch.h"
#include "services/analytics-consumer/storage/offsets.h"
#include "services/analytics-consumer/storage/visit_store.h"

struct batch_writer;

/*
 * All pointers are borrowed. While a batch is being written, only the writer's thread may use store
 * and publisher.
 */
struct batch_writer_config {
	size_t batch_events;
	const char *topic;
	const char *dead_letter_topic;
	struct visit_store *store;
	struct visit_publisher *publisher;
	/* The ingest loop's thread: once it is to end, nothing is retried. */
	struct thread *thread;
	const struct ingest_metrics *metrics;
	const struct clock *clock;
	const struct log *log;
};

struct batch_writer *batch_writer_new(const struct batch_writer_config *config);
/* Call it after batch_writer_finish, and after the producer has been freed. writer may be NULL. */
void batch_writer_free(struct batch_writer *writer);

/*
 * Starts writing a batch. Call it after batch_writer_finish. Takes over the content of batch, whose
 * capacity is batch_events, and leaves batch empty. offsets continues as if the batch had been
 * stored and published.
 */
void batch_writer_start(struct batch_writer *writer, struct batch *batch, struct offsets *offsets);

/*
 * Call it after batch_writer_finish, when partitions were assigned anew. The store then says up to
 * where their visits are published, and another owner may have published what Kafka has not
 * acknowledged to this one.
 */
void batch_writer_forget_unacked(struct batch_writer *writer);

/* False when batch_writer_finish would return at once. */
bool batch_writer_is_busy(const struct batch_writer *writer);

/* The current attempt is the last one. Call it before the batch's partitions are taken away. */
void batch_writer_cancel_retries(struct batch_writer *writer);

/*
 * Waits until the batch is stored and handed to Kafka. OK at once when there is no batch. Any other
 * result makes the offsets uncertain: discard the batch being gathered and start from the stored
 * offsets.
 */
enum err batch_writer_finish(struct batch_writer *writer) MUST_CHECK;

/* The offsets of the batch started last. */
const struct offsets *batch_writer_offsets(const struct batch_writer *writer);

/*
 * Waits until Kafka has acknowledged every visit handed to it. Call it after batch_writer_finish.
 * Results as publish_visits_flush; ERR_UNAVAILABLE only when retries were cancelled.
 */
enum err batch_writer_flush(struct batch_writer *writer) MUST_CHECK;

/* Safe from any thread. True while PostgreSQL refuses a batch for a reason that stays. */
bool batch_writer_is_refused(const struct batch_writer *writer);
/* Safe from any thread. True while a batch waits because Kafka does not accept its dead letters. */
bool batch_writer_is_waiting_for_dead_letters(const struct batch_writer *writer);

#endif
