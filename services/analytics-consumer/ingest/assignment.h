/*
 * One thread at a time; halted_count may be read from any thread. The partitions that the Kafka
 * group assigned to this worker. Handles the events of the kafka_consumer, and leaves and rejoins
 * the group when the fence shows that the group and the store disagree about the owner of a
 * partition.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_INGEST_ASSIGNMENT_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_INGEST_ASSIGNMENT_H

#include <stdatomic.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/kafka/kafka_consumer.h"
#include "lib/postgres/pg_pool.h"
#include "services/analytics-consumer/ingest/ingest_metrics.h"
#include "services/analytics-consumer/publish/publish.h"
#include "services/analytics-consumer/storage/batch.h"
#include "services/analytics-consumer/storage/offsets.h"

/* The caller sets the first group of fields, which are borrowed. */
struct assignment {
	struct pg_pool *pool;
	const char *topic;
	struct kafka_consumer *consumer;
	struct visit_publisher *publisher;
	struct batch *batch;
	struct ingest_metrics *metrics;
	const struct clock *clock;
	const struct log *log;

	struct offsets offsets;
	/* What the next batch begins with. */
	struct batch_record record;
	/* Steady; the last assignment or rejoin. */
	int64_t changed_us;
	_Atomic size_t halted_count;
};

void assignment_clear(struct assignment *a);

/* For the kafka_consumer; the assignment is their ctx. */
extern const struct kafka_consumer_events assignment_events;

/* Discards the batch being gathered, and record. They are read again, here or by another owner. */
void assignment_discard_batch(struct assignment *a);

/* Discards the batch and forgets the partitions: the stored offsets are not certain. */
void assignment_drop(struct assignment *a);

/* Drops the assignment and rejoins the group. Reading starts again from the stored offsets. */
void assignment_rejoin(struct assignment *a);

/*
 * Handles a record of a partition that is not assigned. A few such records follow every rejoin. If
 * they keep coming, the group missed the rejoin: rejoins again.
 */
void assignment_handle_stray(struct assignment *a, int32_t partition);

/*
 * Decides whether a record of partition p may belong to the batch. False: another record stands
 * before p->stored than the one that was counted, and p is halted.
 */
bool assignment_accepts(struct assignment *a, struct offsets_partition *p,
                        const struct kafka_message *message);

/*
 * Call it after polls, while record is not open. For each partition whose next offset Kafka did not
 * have, looks up the offsets that the topic has. Then continues with an offset that exists, or halts
 * the partition.
 */
void assignment_check_ranges(struct assignment *a);

/* True while a halted partition is not yet recorded as halted in the store. */
bool assignment_has_unrecorded_halt(const struct assignment *a);

/*
 * Records halted partitions in the store. Everything read must have been stored. Best effort: call
 * it until none is left.
 */
void assignment_record_halts(struct assignment *a);

/* True while a partition may have no as_of in the store: its as_of was never known. */
bool assignment_has_undated(const struct assignment *a);

/* Sets caught_up of each partition; everything polled must be stored. True if one caught up. */
bool assignment_find_caught_up(struct assignment *a);

/*
 * Writes to the store that all visits handed to Kafka are published. Kafka must have acknowledged
 * them. as_of_us: every click up to then is counted in the partitions that are caught up; 0 =
 * unknown. Best effort: without this mark the last batch's visits are published once more.
 */
void assignment_mark_published(struct assignment *a, int64_t as_of_us);

#endif
