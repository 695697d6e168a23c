#include "services/links-api/live/live_feed.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

#include "lib/base/mem.h"
#include "lib/base/thread.h"
#include "lib/clicks/visit_event.h"
#include "lib/kafka/kafka_topic_reader.h"
#include "services/links-api/live/live_visits.h"

#define POLL_MS 50
#define BATCH_MAX 1000
#define WAKE_US (100 * CLOCK_US_PER_MS)
#define HEARTBEAT_US (10 * CLOCK_US_PER_S)
/* How long a stream waits for records that another instance has already sent to its client. */
#define CATCH_UP_US (2 * CLOCK_US_PER_S)
#define LINGER_US (60 * CLOCK_US_PER_S)
#define IDLE_MS 100
#define REOPEN_MS 1000
#define CHUNK_BYTES 65536
#define RETRY "retry: 1000\n\n"
#define RESET "event: reset\ndata: {}\n\n"

struct live_stream {
	struct live_feed *feed;
	struct live_stream *previous, *next;
	struct http_exchange *exchange;
	/* Who reads it, and whose visits. */
	int64_t user_id, workspace_id;
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
	/* Visits of workspace_id at or after cursor. */
	bool has_news;
	/* The connection is suspended, or about to be. */
	bool is_waiting;
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

/* --- the ring and its positions, with the lock --- */

/* Streams begin when what was there before has been read. */
static bool is_ready(const struct live_feed *feed)
{
	return feed->partitions > 0 && feed->partitions_at_end == feed->partitions;
}

/* Forgets all visits. Streams are placed again, and say so if they miss something. */
static void reset(struct live_feed *feed)
{
	live_visits_clear(feed->visits);
	live_visits_clear_position(&feed->position);
	live_visits_clear_position(&feed->begin);
	feed->partitions = feed->partitions_at_end = 0;
	feed->generation++;
}

static void advance(struct live_feed *feed, int32_t partition, int64_t offset, int64_t next)
{
	if (feed->begin.next[partition] < 0)
		feed->begin.next[partition] = offset;
	feed->position.next[partition] = next;
}

static void add_visit(struct live_feed *feed, const struct kafka_message *m)
{
	if (m->partition >= LIVE_VISITS_PARTITIONS_MAX)
		return;
	advance(feed, m->partition, m->offset, m->offset + 1);
	int64_t workspace_id =
		live_visits_add(feed->visits, m->partition, m->offset, m->value, m->value_len);
	for (struct live_stream *s = feed->streams; workspace_id && s; s = s->next)
		s->has_news = s->has_news || s->workspace_id == workspace_id;
}

/* True if the client has seen records that this instance has not read. */
static bool is_ahead(const struct live_feed *feed, const struct live_visits_position *seen)
{
	for (int32_t p = 0; p < feed->partitions; p++)
		if (seen->next[p] > feed->position.next[p])
			return true;
	return false;
}

static bool has_missed(const struct live_feed *feed, const struct live_visits_position *seen)
{
	for (int32_t p = 0; p < feed->partitions; p++) {
		int64_t next = seen->next[p];
		if (next >= 0 &&
		    (next < feed->begin.next[p] || live_visits_dropped(feed->visits, p, next)))
			return true;
	}
	return is_ahead(feed, seen);
}

/* --- a stream, with the lock --- */

/* A client that closes its connection gives up its place at once, not at the next heartbeat. */
static bool has_ended(const struct live_stream *s, int64_t now_us)
{
	return s->feed->is_ending || now_us >= s->ends_us ||
	       http_exchange_is_half_closed(s->exchange);
}

static void add_reset(struct live_stream *s, struct strbuf *out)
{
	strbuf_add_text(out, RESET);
	metrics_add(s->feed->resets, 1);
	live_visits_clear_position(&s->position);
}

/* Puts the cursor of a new stream, or one of an earlier generation, at the oldest visit. */
static void place(struct live_stream *s, struct strbuf *out)
{
	struct live_feed *feed = s->feed;
	if (has_missed(feed, &s->position))
		add_reset(s, out);
	s->cursor = live_visits_first(feed->visits);
	s->generation = feed->generation;
	s->has_news = true;
	s->heartbeat_us = 0; /* the client learns its position at once */
}

static bool is_seen(const struct live_stream *s, const struct live_visit *visit)
{
	return visit->offset < s->position.next[visit->partition];
}

static void add_visit_event(struct live_stream *s, struct live_visit *visit, struct strbuf *out)
{
	strbuf_add_text(out, "event: visit\nid: ");
	live_visits_add_position(&s->position, out);
	strbuf_add_format(out, "\ndata: %s\n\n", live_visits_json(s->feed->visits, visit));
}

/* An id without data moves the position of the client and shows that the connection is alive. */
static void add_heartbeat(struct live_stream *s, struct strbuf *out)
{
	strbuf_add_text(out, "id: ");
	live_visits_add_position(&s->position, out);
	strbuf_add_text(out, "\n\n");
}

static void add_news(struct live_stream *s, struct strbuf *out)
{
	struct live_feed *feed = s->feed;
	if (s->cursor < live_visits_first(feed->visits)) {
		add_reset(s, out); /* the client reads too slowly */
		s->cursor = live_visits_first(feed->visits);
	}
	for (; s->cursor < live_visits_end(feed->visits) && out->len < CHUNK_BYTES; s->cursor++) {
		struct live_visit *visit = live_visits_get(feed->visits, s->cursor);
		if (is_seen(s, visit))
			continue;
		s->position.next[visit->partition] = visit->offset + 1;
		if (visit->workspace_id == s->workspace_id &&
		    (!s->tags || visit_event_has_tag(visit->event, visit->len, s->tags)))
			add_visit_event(s, visit, out);
	}
	s->has_news = s->cursor < live_visits_end(feed->visits);
}

/* What is between the cursor and the end is of others. */
static void skip_to_end(struct live_stream *s)
{
	struct live_feed *feed = s->feed;
	s->cursor = live_visits_end(feed->visits);
	for (int32_t p = 0; p < LIVE_VISITS_PARTITIONS_MAX; p++)
		if (feed->position.next[p] > s->position.next[p])
			s->position.next[p] = feed->position.next[p];
}

static void fill(struct live_stream *s, int64_t now_us, struct strbuf *out)
{
	struct live_feed *feed = s->feed;
	if (!s->has_begun)
		strbuf_add_text(out, RETRY);
	s->has_begun = true;
	bool may_catch_up = is_ahead(feed, &s->position) && now_us < s->began_us + CATCH_UP_US;
	if (is_ready(feed) && s->generation != feed->generation && !may_catch_up)
		place(s, out);
	bool is_placed = is_ready(feed) && s->generation == feed->generation;
	if (is_placed && s->has_news)
		add_news(s, out);
	if (is_placed && !s->has_news)
		skip_to_end(s);
	if (now_us >= s->heartbeat_us && is_placed)
		add_heartbeat(s, out);
	else if (now_us >= s->heartbeat_us)
		strbuf_add_text(out, ":\n\n");
	if (out->len > 0)
		s->heartbeat_us = now_us + HEARTBEAT_US;
}

enum http_chunk live_feed_read_stream(void *stream, struct strbuf *out)
{
	struct live_stream *s = stream;
	struct live_feed *feed = s->feed;
	int64_t now_us = clock_steady_us(feed->config.clock);
	pthread_mutex_lock(&feed->lock);
	fill(s, now_us, out);
	bool is_last = has_ended(s, now_us);
	s->is_waiting = !is_last && out->len == 0;
	pthread_mutex_unlock(&feed->lock);
	return is_last ? HTTP_CHUNK_LAST : HTTP_CHUNK_MORE;
}

static void free_stream(struct live_stream *s)
{
	free(s->tags);
	free(s);
}

enum live_feed_refusal live_feed_open(struct live_feed *feed, struct http_exchange *x,
                                      int64_t user_id, int64_t workspace_id, const char *tags,
                                      const struct live_visits_position *after,
                                      struct live_stream **out)
{
	struct live_stream *s = mem_zero(sizeof(*s));
	int64_t now_us = clock_steady_us(feed->config.clock);
	*s = (struct live_stream){ .feed = feed, .exchange = x };
	s->user_id = user_id;
	s->workspace_id = workspace_id;
	s->tags = tags ? mem_text(tags) : NULL;
	s->began_us = now_us;
	s->ends_us = now_us + feed->config.stream_us;
	s->heartbeat_us = now_us + HEARTBEAT_US;
	live_visits_clear_position(&s->position);
	if (after)
		s->position = *after;
	size_t of_account = 0;
	pthread_mutex_lock(&feed->lock);
	for (const struct live_stream *other = feed->streams; other; other = other->next)
		of_account += other->user_id == user_id;
	enum live_feed_refusal refusal = LIVE_FEED_OPENED;
	if (of_account >= feed->config.streams_per_account)
		refusal = LIVE_FEED_ACCOUNT_FULL;
	else if (feed->stream_count >= feed->config.streams_max)
		refusal = LIVE_FEED_FULL;
	if (refusal == LIVE_FEED_OPENED) {
		s->next = feed->streams;
		if (s->next)
			s->next->previous = s;
		feed->streams = s;
		feed->stream_count++;
		metrics_set(feed->open_streams, (int64_t)feed->stream_count);
	}
	pthread_mutex_unlock(&feed->lock);
	if (refusal != LIVE_FEED_OPENED)
		free_stream(s);
	else
		*out = s;
	return refusal;
}

void live_feed_close(void *stream)
{
	struct live_stream *s = stream;
	struct live_feed *feed = s->feed;
	pthread_mutex_lock(&feed->lock);
	if (s->previous)
		s->previous->next = s->next;
	else
		feed->streams = s->next;
	if (s->next)
		s->next->previous = s->previous;
	feed->stream_count--;
	metrics_set(feed->open_streams, (int64_t)feed->stream_count);
	pthread_mutex_unlock(&feed->lock);
	free_stream(s);
}

/* --- the thread --- */

static void on_partitions_found(void *ctx, int topic, int32_t count)
{
	(void)topic;
	struct live_feed *feed = ctx;
	if (count > LIVE_VISITS_PARTITIONS_MAX)
		log_error(feed->config.log, "live_partitions_ignored", LOG_INT("partitions", count),
		          LOG_INT("read", LIVE_VISITS_PARTITIONS_MAX));
	pthread_mutex_lock(&feed->lock);
	feed->partitions = count < LIVE_VISITS_PARTITIONS_MAX ? count : LIVE_VISITS_PARTITIONS_MAX;
	pthread_mutex_unlock(&feed->lock);
}

static void count_ends(struct live_feed *feed)
{
	feed->partitions_at_end = 0;
	for (int32_t p = 0; p < feed->partitions; p++)
		feed->partitions_at_end += feed->begin.next[p] >= 0;
}

/* Streams wait until the new end of the partition is known, and then say that they miss visits. */
static void on_position_lost(void *ctx, int topic, int32_t partition)
{
	(void)topic;
	struct live_feed *feed = ctx;
	pthread_mutex_lock(&feed->lock);
	live_visits_clear(feed->visits);
	feed->begin = feed->position;
	if (partition < LIVE_VISITS_PARTITIONS_MAX)
		feed->begin.next[partition] = feed->position.next[partition] = -1;
	count_ends(feed);
	feed->generation++;
	pthread_mutex_unlock(&feed->lock);
}

static void on_end(void *ctx, int topic, int32_t partition, int64_t offset)
{
	(void)topic;
	struct live_feed *feed = ctx;
	if (partition >= LIVE_VISITS_PARTITIONS_MAX)
		return;
	pthread_mutex_lock(&feed->lock);
	advance(feed, partition, offset, offset);
	count_ends(feed);
	pthread_mutex_unlock(&feed->lock);
}

/* NULL: librdkafka rejects the configuration (logged); tried again later. */
static struct kafka_topic_reader *open_kafka(struct live_feed *feed)
{
	struct kafka_topic_reader *reader = NULL;
	enum err err = kafka_topic_reader_new(
		&(struct kafka_topic_reader_config){
			.kafka = feed->config.kafka,
			.topics = { VISIT_EVENT_TOPIC },
			.tail = LIVE_FEED_TAIL,
			.events = { on_partitions_found, on_position_lost, on_end },
			.ctx = feed,
			.log = feed->config.log,
		},
		&reader);
	return err == OK ? reader : NULL;
}

static void close_kafka(struct live_feed *feed)
{
	kafka_topic_reader_free(feed->kafka);
	feed->kafka = NULL;
	pthread_mutex_lock(&feed->lock);
	reset(feed);
	pthread_mutex_unlock(&feed->lock);
}

static bool is_needed(struct live_feed *feed)
{
	int64_t now_us = clock_steady_us(feed->config.clock);
	pthread_mutex_lock(&feed->lock);
	if (feed->streams)
		feed->needed_us = now_us;
	bool is_needed = feed->needed_us > 0 && now_us - feed->needed_us < LINGER_US;
	pthread_mutex_unlock(&feed->lock);
	return is_needed;
}

/* ERR_INTERNAL: the reader has failed and must be replaced. */
static enum err read_batch(struct live_feed *feed)
{
	enum err err = OK;
	for (int i = 0; err == OK && i < BATCH_MAX; i++) {
		struct kafka_message message;
		err = kafka_topic_reader_poll(feed->kafka, i == 0 ? POLL_MS : 0, &message);
		if (err != OK)
			break;
		pthread_mutex_lock(&feed->lock);
		add_visit(feed, &message);
		pthread_mutex_unlock(&feed->lock);
	}
	return err;
}

static bool is_due(const struct live_stream *s, int64_t now_us)
{
	const struct live_feed *feed = s->feed;
	bool has_place = is_ready(feed) && (s->has_news || s->generation != feed->generation);
	return has_place || has_ended(s, now_us) || now_us >= s->heartbeat_us;
}

/* Resumes under the lock: a stream that waits is not closed meanwhile. */
static void wake_streams(struct live_feed *feed)
{
	int64_t now_us = clock_steady_us(feed->config.clock);
	pthread_mutex_lock(&feed->lock);
	for (struct live_stream *s = feed->streams; s; s = s->next) {
		if (!s->is_waiting || !is_due(s, now_us))
			continue;
		s->is_waiting = false;
		http_exchange_resume(s->exchange);
	}
	pthread_mutex_unlock(&feed->lock);
}

static void follow(struct live_feed *feed)
{
	if (!feed->kafka)
		feed->kafka = open_kafka(feed);
	if (!feed->kafka) {
		(void)thread_wait_ms(feed->thread, REOPEN_MS);
		return;
	}
	int64_t until_us = clock_steady_us(feed->config.clock) + WAKE_US;
	enum err err = OK;
	do
		err = read_batch(feed);
	while (err == OK && clock_steady_us(feed->config.clock) < until_us);
	if (err == ERR_INTERNAL)
		close_kafka(feed);
}

static void run(void *ctx)
{
	struct live_feed *feed = ctx;
	while (!thread_is_stopping(feed->thread)) {
		if (is_needed(feed))
			follow(feed);
		else if (feed->kafka)
			close_kafka(feed);
		else
			(void)thread_wait_ms(feed->thread, IDLE_MS);
		wake_streams(feed);
	}
	close_kafka(feed);
}

struct live_feed *live_feed_start(const struct live_feed_config *config)
{
	struct live_feed *feed = mem_zero(sizeof(*feed));
	feed->config = *config;
	feed->visits = live_visits_new();
	pthread_mutex_init(&feed->lock, NULL);
	reset(feed);
	feed->open_streams = metrics_gauge(config->metrics, "waymark_live_streams",
	                                   "Open streams of visits (GET /api/live).", NULL);
	feed->resets = metrics_counter(config->metrics, "waymark_live_resets_total",
	                               "Reset events: visits may be missing from a stream.", NULL);
	feed->thread = thread_new();
	thread_start(feed->thread, "live", run, feed);
	return feed;
}

void live_feed_end_streams(struct live_feed *feed)
{
	pthread_mutex_lock(&feed->lock);
	feed->is_ending = true;
	pthread_mutex_unlock(&feed->lock);
}

void live_feed_stop(struct live_feed *feed)
{
	if (!feed)
		return;
	thread_free(feed->thread);
	live_visits_free(feed->visits);
	pthread_mutex_destroy(&feed->lock);
	free(feed);
}
