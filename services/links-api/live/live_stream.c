#include "services/links-api/live/live_stream.h"

#include <stdlib.h>

#include "lib/base/mem.h"
#include "lib/clicks/visit_event.h"
#include "services/links-api/live/live_internal.h"

#define HEARTBEAT_US (10 * CLOCK_US_PER_S)
/* How long a stream waits for records that another instance has already sent to its client. */
#define CATCH_UP_US (2 * CLOCK_US_PER_S)
#define CHUNK_BYTES 65536
#define RETRY "retry: 1000\n\n"
#define RESET "event: reset\ndata: {}\n\n"

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

bool live_stream_has_ended(const struct live_stream *s, int64_t now_us)
{
	return s->feed->is_ending || s->is_refused || now_us >= s->ends_us ||
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
		if (visit->workspace_id == s->reader.workspace_id &&
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
	if (live_feed_is_ready(feed) && s->generation != feed->generation && !may_catch_up)
		place(s, out);
	bool is_placed = live_feed_is_ready(feed) && s->generation == feed->generation;
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

enum http_chunk live_stream_read(void *stream, struct strbuf *out)
{
	struct live_stream *s = stream;
	struct live_feed *feed = s->feed;
	int64_t now_us = clock_steady_us(feed->config.clock);
	pthread_mutex_lock(&feed->lock);
	fill(s, now_us, out);
	bool is_last = live_stream_has_ended(s, now_us);
	s->is_waiting = !is_last && out->len == 0;
	pthread_mutex_unlock(&feed->lock);
	return is_last ? HTTP_CHUNK_LAST : HTTP_CHUNK_MORE;
}

static void free_stream(struct live_stream *s)
{
	free(s->tags);
	free(s);
}

enum live_stream_refusal live_stream_open(struct live_feed *feed, struct http_exchange *x,
                                          const struct live_reader *reader, const char *tags,
                                          const struct live_visits_position *after,
                                          struct live_stream **out)
{
	struct live_stream *s = mem_zero(sizeof(*s));
	int64_t now_us = clock_steady_us(feed->config.clock);
	*s = (struct live_stream){ .feed = feed, .exchange = x };
	s->reader = *reader;
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
		of_account += other->reader.user_id == reader->user_id;
	enum live_stream_refusal refusal = LIVE_STREAM_OPENED;
	if (of_account >= feed->config.streams_per_account)
		refusal = LIVE_STREAM_ACCOUNT_FULL;
	else if (feed->stream_count >= feed->config.streams_max)
		refusal = LIVE_STREAM_FULL;
	if (refusal == LIVE_STREAM_OPENED) {
		s->next = feed->streams;
		if (s->next)
			s->next->previous = s;
		feed->streams = s;
		feed->stream_count++;
		metrics_set(feed->open_streams, (int64_t)feed->stream_count);
	}
	pthread_mutex_unlock(&feed->lock);
	if (refusal != LIVE_STREAM_OPENED)
		free_stream(s);
	else
		*out = s;
	return refusal;
}

void live_stream_close(void *stream)
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
