/*
 * Safe from any thread. Follows the topic of link events (waymark.links.v1), so that changes reach
 * this process within moments. One thread reads every partition, replaces older versions in memory,
 * adds each slug to the Bloom filter, and keeps the watermark_tracker. It also reads the watermarks
 * (waymark.link-watermarks.v1).
 *
 * Kafka may be down at the start or at any time; nothing waits for it. Memory entries then live for
 * MEMORY_TTL_MS. They live for LINK_FEED_ISOLATED_TTL_MS, if that is longer, once Redis has been
 * unreachable for two seconds as well.
 *
 * When a link changes that this process has recently written into Redis (recent_changes.h), its new
 * version is written there too: a delayed write by this process may have overwritten the change in
 * Redis. A worker does that, so the feed never waits for Redis.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_FEED_LINK_FEED_H
#define WAYMARK_SERVICES_REDIRECTOR_FEED_LINK_FEED_H

#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/kafka/kafka_config.h"
#include "lib/links/link_cache.h"
#include "services/redirector/cache/memory_cache.h"
#include "services/redirector/cache/recent_changes.h"
#include "services/redirector/cache/watermark_tracker.h"
#include "services/redirector/feed/corrected_clock.h"
#include "services/redirector/lookup/slug_bloom_filter.h"
#include "services/redirector/lookup/unknown_slug_limiter.h"

#define LINK_FEED_ISOLATED_TTL_MS 5000

struct link_feed;

/* Everything is borrowed. */
struct link_feed_config {
	const struct kafka_config *kafka;
	const char *topic;
	const char *watermark_topic;
	struct watermark_tracker *watermark;
	/* Learns from each watermark. */
	struct corrected_clock *corrected;
	struct recent_changes *changes;
	struct memory_cache *memory;
	int64_t memory_ttl_ms;
	struct link_cache *link_cache;
	/* To see whether Redis can be reached. */
	struct redis_pool *redis;
	/* Receives every slug that the feed names. */
	struct slug_bloom_filter *filter;
	/* Advanced after each batch of events. */
	struct unknown_slug_limiter *limiter;
	const struct clock *clock;
	const struct log *log;
	struct metrics *metrics;
};

/* Succeeds without the brokers. ERR_INVALID: librdkafka rejects the configuration (logged). */
enum err link_feed_start(const struct link_feed_config *config, struct link_feed **out) MUST_CHECK;

/* Ends the thread and waits for running writes to Redis. NULL is allowed. */
void link_feed_stop(struct link_feed *feed);

#endif
