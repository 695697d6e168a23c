/*
 * Shows visits to the owners of their links while they come. One thread reads waymark.visits.v1 and
 * keeps the latest visits; streams (Server-Sent Events) wait without a worker and without a thread,
 * as suspended connections.
 *
 * The thread reads only while somebody listens, and a minute longer. It begins with the last
 * LIVE_FEED_TAIL records of each partition: they are what a new stream shows first, and what a
 * client missed that reconnects, on this instance or another.
 *
 * Safe from any thread.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LIVE_LIVE_FEED_H
#define WAYMARK_SERVICES_LINKS_API_LIVE_LIVE_FEED_H

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/kafka/kafka_config.h"
#include "lib/postgres/pg_pool.h"

#define LIVE_FEED_TAIL 4096

struct live_feed;

/* Everything is borrowed. */
struct live_feed_config {
	/* Asked each second whether the readers may go on; while it is away, they do. */
	struct pg_pool *pg;
	const struct kafka_config *kafka;
	size_t streams_max;
	size_t streams_per_account;
	/* A stream then ends, so that all about its credentials is checked again. */
	int64_t stream_us;
	const struct clock *clock;
	const struct log *log;
	struct metrics *metrics;
};

struct live_feed *live_feed_start(const struct live_feed_config *config);

/* Ends all streams soon, also those that begin later. Call it before the HTTP server stops. */
void live_feed_end_streams(struct live_feed *feed);

/* Call after the HTTP server has stopped. NULL is allowed. */
void live_feed_stop(struct live_feed *feed);

#endif
