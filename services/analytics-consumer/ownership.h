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

/* After each poll: goes on with partitions that were stranded on nothing but visits to publish again. */
void ownership_resume(struct ownership *o);

/*
 * Everything that was handed to Kafka has been acknowledged: says so in the store. as_of_us: all clicks up to then are
 * counted of the partitions that are caught up; 0 = not known. Best effort: without the mark the visits of the last
 * batch are published once more.
 */
void ownership_mark_published(struct ownership *o, int64_t as_of_us);

#endif
