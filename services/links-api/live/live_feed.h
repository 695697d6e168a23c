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
#include "lib/http/http_server.h"
#include "lib/kafka/kafka_config.h"
#include "services/links-api/live/live_visits.h"

#define LIVE_FEED_TAIL 4096

struct live_feed;
struct live_stream;

/* Everything is borrowed. */
struct live_feed_config {
	const struct kafka_config *kafka;
	size_t streams_max;
	size_t streams_per_account;
	/* A stream then ends, so that credentials are checked again. */
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

enum live_feed_refusal {
	LIVE_FEED_OPENED,
	LIVE_FEED_ACCOUNT_FULL, /* streams_per_account */
	LIVE_FEED_FULL,         /* streams_max */
};

/*
 * Opens a stream for a person of the visits of a workspace's links. tags: only those whose link had one of
 * these when they were counted, separated by U+001F; NULL = all. after: what the client has seen; NULL =
 * nothing. Pass live_feed_read_stream and *out to http_exchange_set_push_reader, and close it when
 * x ends.
 */
enum live_feed_refusal live_feed_open(struct live_feed *feed, struct http_exchange *x,
                                      int64_t user_id, int64_t workspace_id, const char *tags,
                                      const struct live_visits_position *after,
                                      struct live_stream **out);
void live_feed_close(void *stream);

/* The http_body_reader of a stream. */
enum http_chunk live_feed_read_stream(void *stream, struct strbuf *out);

#endif
