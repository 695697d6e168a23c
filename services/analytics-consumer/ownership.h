/*
 * One thread at a time; ownership_stranded_count from any. Which partitions the group has given us: answers the events
 * of the kafka_consumer, and gives everything back when the fence said that the group and we disagree.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_OWNERSHIP_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_OWNERSHIP_H

#include <stdatomic.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/net/kafka_consumer.h"
#include "lib/net/pg_pool.h"
#include "services/analytics-consumer/batch.h"
#include "services/analytics-consumer/ingest_metrics.h"
#include "services/analytics-consumer/progress.h"
#include "services/analytics-consumer/visit_publisher.h"

/* The upper part is set by its owner, and borrowed. */
struct ownership {
	struct pg_pool *pool;
	const char *topic;
	struct kafka_consumer *consumer;
	struct visit_publisher *publisher;
	struct batch *batch;
	struct ingest_metrics *metrics;
	const struct clock *clock;
	const struct log *log;

	struct progress progress;
	int64_t changed_us; /* steady; the last assignment or rejoin */
	atomic_size_t stranded;
};

void ownership_clear(struct ownership *o);

/* For the kafka_consumer, with the ownership as their ctx. */
extern const struct kafka_consumer_events ownership_events;

/* Throws the batch in hand away: what it reached over is read again, by us or by another owner. */
void ownership_throw_batch_away(struct ownership *o);

/* The same, and nothing of the old assignment is for us any more: what we believed of it is not certain. */
void ownership_lose(struct ownership *o);

/* The same, and gives all partitions back: reading begins anew with what is stored. */
void ownership_rejoin(struct ownership *o);

/* A record of a partition that is not ours came; there are few after a rejoin, and many if the group missed it. */
void ownership_take_stray(struct ownership *o, int32_t partition);

/*
 * A record of partition p came. False: it is not for the batch, because nothing of p is counted or published with it: it
 * was read only to see that it still stands before p->stored, or it is another one than that, and p is stranded.
 */
bool ownership_admits(struct ownership *o, struct progress_partition *p, const struct kafka_message *message);

/* After each poll: finds out what there is where Kafka had not what was to be read, and goes on or strands it. */
void ownership_examine(struct ownership *o);

/* True when the store has not been told of each partition that is stranded. */
bool ownership_has_to_tell(const struct ownership *o);

/* Tells it. Everything that was read must have been stored. Best effort: call it again while there is to tell. */
void ownership_tell_stranded(struct ownership *o);

/*
 * Everything that was handed to Kafka has been acknowledged: says so in the store. as_of_us: all clicks up to then are
 * counted of the partitions that are caught up; 0 = not known. Best effort: without the mark the visits of the last
 * batch are published once more.
 */
void ownership_mark_published(struct ownership *o, int64_t as_of_us);

#endif
