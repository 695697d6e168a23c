/*
 * Safe from any thread. Follows waymark.links.v1, so that changes reach this process' memory within moments: a thread
 * that reads every partition, replaces what memory holds of older versions, and keeps feed_progress.
 *
 * Kafka may be away at start or at any time; nobody waits for it. Entries of memory then live by time alone:
 * MEMORY_TTL_MS, or LINK_FEED_LONELY_TTL_MS if that is longer and Redis could not be reached either for two seconds.
 *
 * An event of a link that this process may have put into Redis lately (change_clock.h) is put there, too: a fill that
 * was held up may have come after whoever told Redis. A worker does it; the feed waits for nobody.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_LINK_FEED_H
#define WAYMARK_SERVICES_REDIRECTOR_LINK_FEED_H

#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/links/link_cache.h"
#include "lib/net/kafka_config.h"
#include "services/redirector/change_clock.h"
#include "services/redirector/feed_progress.h"
#include "services/redirector/memory_cache.h"
#include "services/redirector/slug_filter.h"
#include "services/redirector/unknown_gate.h"

#define LINK_FEED_LONELY_TTL_MS 5000

struct link_feed;

/* Everything is borrowed. */
struct link_feed_config {
	const struct kafka_config *kafka;
	const char *topic;
	struct feed_progress *progress;
	struct change_clock *changes;
	struct memory_cache *memory;
	int64_t memory_ttl_ms;
	struct link_cache *link_cache;
	struct redis_pool *redis;   /* whether it can be reached */
	struct slug_filter *filter; /* every slug that the feed names is added */
	struct unknown_gate *gate;  /* told of each step */
	const struct clock *clock;
	const struct log *log;
	struct metrics *metrics;
};

/* Works without the brokers. ERR_INVALID: librdkafka refuses the configuration (logged). */
enum err link_feed_start(const struct link_feed_config *config, struct link_feed **out) MUST_CHECK;

/* Ends the thread, and waits for what is on its way to Redis. NULL is allowed. */
void link_feed_stop(struct link_feed *feed);

#endif
