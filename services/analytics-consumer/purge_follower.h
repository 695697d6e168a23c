/*
 * Start and stop by one thread. Forgets what was counted of links that were purged: a thread of its own follows
 * waymark.links.v1 in a group of its own, so that consumers share the work, and deletes soon after the event
 * (purge_store.h).
 *
 * A purge is a PURGED event or a record without value, which is what compaction leaves of it; what has really become of
 * the slug's link is asked of PostgreSQL. So all is done at least once, in any order, and again does no harm. How far
 * it has come stands in consumer_offsets; where that does not exist any more, the topic is read from its beginning.
 *
 * A click that is counted later still makes rows again; the janitor's nightly retention finds them.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_PURGE_FOLLOWER_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_PURGE_FOLLOWER_H

#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/net/kafka_config.h"
#include "lib/net/pg_pool.h"

struct purge_follower;

/* Everything is borrowed. */
struct purge_follower_config {
	const struct kafka_config *kafka;
	const char *group; /* of those who count; ours is "<group>-purges" */
	const char *topic;
	int64_t session_timeout_ms;
	struct pg_pool *pool; /* one connection of it is used now and then */
	const struct clock *clock;
	const struct log *log;
	struct metrics *metrics; /* may be NULL */
};

/* Works without any server. ERR_INVALID: librdkafka refuses the configuration (logged). */
enum err purge_follower_start(const struct purge_follower_config *config, struct purge_follower **out) MUST_CHECK;

/* What was read and not forgotten yet is read again by the next. NULL is allowed. */
void purge_follower_stop(struct purge_follower *follower);

#endif
