/*
 * One thread starts and stops it. Deletes the roll-ups and statistics of purged links. A thread
 * reads waymark.links.v1 in its own Kafka group, so that several consumers share the work, and
 * deletes soon after the event (rollup_delete_purged).
 *
 * A purge is a PURGED event, or a record without a value, which is what compaction leaves of it.
 * PostgreSQL decides what really became of the slug's link. Deletion is therefore idempotent:
 * events may come more than once and in any order. The position is stored in consumer_offsets. If
 * it no longer exists, the topic is read from its beginning.
 *
 * A click that is counted after the deletion creates rows again. The janitor's nightly retention
 * deletes them.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_INGEST_PURGE_CONSUMER_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_INGEST_PURGE_CONSUMER_H

#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/kafka/kafka_config.h"
#include "lib/postgres/pg_pool.h"

struct purge_consumer;

/* Everything is borrowed. */
struct purge_consumer_config {
	const struct kafka_config *kafka;
	/* Of the workers that count; this consumer's group is "<group>-purges". */
	const char *group;
	const char *topic;
	int64_t session_timeout_ms;
	/* At most one connection is in use at a time. */
	struct pg_pool *pool;
	const struct clock *clock;
	const struct log *log;
	/* May be NULL. */
	struct metrics *metrics;
};

/* Needs no running server. ERR_INVALID: librdkafka rejects the configuration (logged). */
enum err purge_consumer_start(const struct purge_consumer_config *config,
                              struct purge_consumer **out) MUST_CHECK;

/* Purges that were read and not applied are read again by the next owner. NULL is allowed. */
void purge_consumer_stop(struct purge_consumer *consumer);

#endif
