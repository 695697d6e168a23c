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
 * Redis. Of a link with extras, which events do not bring, the older version is removed there. A
 * worker does that, so the feed never waits for Redis.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_FEED_LINK_FEED_H
#define WAYMARK_SERVICES_REDIRECTOR_FEED_LINK_FEED_H

#include <stdatomic.h>
#include <stdbool.h>
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
#include "services/redirector/lookup/slug_bloom_filter.h"
#include "services/redirector/lookup/unknown_slug_limiter.h"

#define LINK_FEED_ISOLATED_TTL_MS 5000

struct link_feed;
struct corrected_clock;

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

/*
 * Readers: any thread. Writer: the thread of the feed alone.
 *
 * A clock that is never behind PostgreSQL's for longer than a watermark takes to arrive. Links
 * expire by PostgreSQL's clock. A machine whose own clock is behind would still redirect, take an
 * old watermark for a fresh one, and answer 404 for a slug that was just issued.
 *
 *       link_feed_clock_learn(&corrected, watermark.as_of_us, watermark.version_base);
 *       clock_now_us(&corrected.clock);                             // wherever time is read
 *
 * A watermark proves that PostgreSQL's clock has shown as_of_us. So the wall time is the later one
 * of the machine's clock and as_of_us plus the steady time since then. Of this window of 10 s and
 * the one before, the watermark that proves the latest time counts. A machine whose clock is ahead
 * keeps its time: it expires links early, which is the safe side. A new epoch of the database, to
 * which version_base rises, has the clock of another server: what was learned before is forgotten.
 *
 * The offset is the machine's clock minus PostgreSQL's. It includes the time that the quickest
 * watermark took. Beyond LINK_FEED_CLOCK_OFFSET_MAX_US it is logged.
 */
#define LINK_FEED_CLOCK_OFFSET_MAX_US (100 * CLOCK_US_PER_MS)
#define LINK_FEED_CLOCK_WINDOW_US (10 * CLOCK_US_PER_S)

struct corrected_clock {
	/* Pass its address to others; must be the first member. */
	struct clock clock;
	const struct clock *machine;
	const struct log *log;
	/* PostgreSQL's time minus steady time, at least; INT64_MIN: unknown. */
	_Atomic int64_t lead_us;
	/* The writer's from here on; steady. */
	int64_t window_end_us;
	/* The largest lead of this window. */
	int64_t current_us;
	/* And of the one before; INT64_MIN: none. */
	int64_t previous_us;
	/* Of the newest epoch. */
	int64_t version_base;
	/* That the offset is too large. */
	bool is_logged;
};

/* machine and log are borrowed. */
void link_feed_clock_init(struct corrected_clock *corrected, const struct clock *machine,
                          const struct log *log);

/* PostgreSQL's clock has shown this time before now, in this epoch; earlier ones are ignored. */
void link_feed_clock_learn(struct corrected_clock *corrected, int64_t postgres_us,
                           int64_t version_base);

/* Negative: the machine's clock is behind. 0: not known. */
int64_t link_feed_clock_offset_us(const struct corrected_clock *corrected);

#endif
