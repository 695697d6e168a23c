/*
 * One thread at a time, except for the last two functions. While the ingest loop gathers a batch,
 * one thread stores the batch before, and another one publishes the batch before that. At most one
 * batch is in each, so batches are stored and published in the order in which they were gathered. If
 * a batch fails, the batch gathered after it builds on offsets that were never stored: the caller
 * must discard it too.
 *
 *   batch_writer_start(writer, &batch, &offsets);   // empties batch, advances offsets
 *   ... gather the next batch ...
 *   if (batch_writer_finish(writer) != OK)          // waits until it is stored
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
 * All pointers are borrowed. From batch_writer_start to batch_writer_flush, only the writer's
 * threads may use store and publisher.
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
/* Call it after batch_writer_flush, and after the producer has been freed. writer may be NULL. */
void batch_writer_free(struct batch_writer *writer);

/*
 * Starts writing a batch. Call it after batch_sort and batch_writer_finish. Takes over the content
 * of batch, whose capacity is batch_events, and leaves batch empty. offsets continues as if the
 * batch had been stored and published. If partitions were assigned anew since the last batch, call
 * batch_writer_flush before: the store now says up to where their visits are published.
 */
void batch_writer_start(struct batch_writer *writer, struct batch *batch, struct offsets *offsets);

/* False when batch_writer_finish would return at once. */
bool batch_writer_is_busy(const struct batch_writer *writer);

/*
 * The current attempts, to store and to publish, are the last ones. Call it before the partitions of
 * the batches are taken away, and then batch_writer_finish and batch_writer_flush.
 */
void batch_writer_cancel_retries(struct batch_writer *writer);

/*
 * Waits until the batch is stored and its visits are about to be published. OK at once when there is
 * no batch. Any other result, also for the visits of the batch before it, makes the offsets
 * uncertain: discard the batch being gathered and start from the stored offsets.
 */
enum err batch_writer_finish(struct batch_writer *writer) MUST_CHECK;

/* The offsets of the batch started last. */
const struct offsets *batch_writer_offsets(const struct batch_writer *writer);

/*
 * Waits until Kafka has acknowledged every visit of the stored batches. Call it after
 * batch_writer_finish. ERR_UNAVAILABLE: all were handed to Kafka, and retries were cancelled before
 * it had acknowledged them. Any other error makes the offsets uncertain, as with
 * batch_writer_finish.
 */
enum err batch_writer_flush(struct batch_writer *writer) MUST_CHECK;

/* Safe from any thread. True while PostgreSQL refuses a batch for a reason that stays. */
bool batch_writer_is_refused(const struct batch_writer *writer);
/* Safe from any thread. True while a batch waits because Kafka does not accept its dead letters. */
bool batch_writer_is_waiting_for_dead_letters(const struct batch_writer *writer);

#endif
