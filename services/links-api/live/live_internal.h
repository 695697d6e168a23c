/* What live_feed.c and live_stream.c share. Only these two include it. */
#ifndef WAYMARK_SERVICES_LINKS_API_LIVE_LIVE_INTERNAL_H
#define WAYMARK_SERVICES_LINKS_API_LIVE_LIVE_INTERNAL_H

#include <pthread.h>

#include "lib/http/http_server.h"
#include "services/links-api/live/live_access.h"
#include "services/links-api/live/live_feed.h"
#include "services/links-api/live/live_visits.h"

struct live_stream {
	struct live_feed *feed;
	struct live_stream *previous, *next;
	struct http_exchange *exchange;
	struct live_reader reader;
	/* Only of links with one of these; owned; NULL = of all. */
	char *tags;
	/* Steady. */
	int64_t began_us, ends_us, heartbeat_us;
	/* The number of the next visit to look at. */
	uint64_t cursor;
	struct live_visits_position position;
	/* Of the feed that cursor belongs to; 0 = not placed yet. */
	uint64_t generation;
	bool has_begun;
	/* Visits of the workspace at or after cursor. */
	bool has_news;
	/* The connection is suspended, or about to be. */
	bool is_waiting;
	/* Its reader may not read any more. */
	bool is_refused;
};

struct live_feed {
	struct live_feed_config config;
	struct thread *thread;
	/* The thread's; NULL = nobody listens. */
	struct kafka_topic_reader *kafka;
	pthread_mutex_t lock;
	/* Everything below belongs to the lock. */
	struct live_stream *streams;
	size_t stream_count;
	bool is_ending;
	/* Steady: when readers are asked about next; the thread's. */
	int64_t access_us;
	/* Steady: the last time that somebody listened. */
	int64_t needed_us;
	struct live_visits *visits;
	/* The next offset of each partition that is read. */
	struct live_visits_position position;
	/* The first one. */
	struct live_visits_position begin;
	int32_t partitions, partitions_at_end;
	/* Rises when visits may be missing. */
	uint64_t generation;
	struct metric *open_streams, *resets;
};

/* With the lock. Streams begin when what was there before has been read. */
bool live_feed_is_ready(const struct live_feed *feed);

/* With the lock. A client that closes its connection gives up its place at once, not at the next heartbeat. */
bool live_stream_has_ended(const struct live_stream *s, int64_t now_us);

#endif
