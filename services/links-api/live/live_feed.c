#include "services/links-api/live/live_feed.h"

#include <stdlib.h>

#include "lib/base/mem.h"
#include "lib/base/thread.h"
#include "lib/clicks/visit_event.h"
#include "lib/kafka/kafka_topic_reader.h"
#include "services/links-api/live/live_internal.h"

#define POLL_MS 50
#define BATCH_MAX 1000
#define WAKE_US (100 * CLOCK_US_PER_MS)
#define LINGER_US (60 * CLOCK_US_PER_S)
#define ACCESS_US CLOCK_US_PER_S
#define IDLE_MS 100
#define REOPEN_MS 1000

/* --- the ring and its positions, with the lock --- */

bool live_feed_is_ready(const struct live_feed *feed)
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
		s->has_news = s->has_news || s->reader.workspace_id == workspace_id;
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
	bool has_place =
		live_feed_is_ready(feed) && (s->has_news || s->generation != feed->generation);
	return has_place || live_stream_has_ended(s, now_us) || now_us >= s->heartbeat_us;
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

static bool is_same_reader(const struct live_reader *a, const struct live_reader *b)
{
	return a->user_id == b->user_id && a->workspace_id == b->workspace_id &&
	       a->key_id == b->key_id && a->session_id == b->session_id;
}

/* NULL: nobody reads. The caller frees it. */
static struct live_reader *list_readers(struct live_feed *feed, size_t *count)
{
	struct live_reader *readers = NULL;
	*count = 0;
	pthread_mutex_lock(&feed->lock);
	if (feed->streams)
		readers = mem_array(feed->stream_count, sizeof(*readers));
	for (const struct live_stream *s = feed->streams; s; s = s->next)
		readers[(*count)++] = s->reader;
	pthread_mutex_unlock(&feed->lock);
	return readers;
}

/* Whoever was removed, blocked or logged out does not hear the rest of a stream. */
static void check_access(struct live_feed *feed)
{
	size_t count;
	int64_t now_us = clock_steady_us(feed->config.clock);
	if (now_us < feed->access_us)
		return;
	feed->access_us = now_us + ACCESS_US;
	struct live_reader *readers = list_readers(feed, &count);
	if (!readers)
		return;
	struct pg_conn *conn = NULL;
	bool *may_read = mem_array(count, sizeof(*may_read));
	enum err err = pg_pool_acquire(feed->config.pg, &conn);
	if (err == OK)
		err = live_access_check(conn, readers, count, may_read);
	pg_pool_release(feed->config.pg, conn);
	pthread_mutex_lock(&feed->lock);
	for (struct live_stream *s = feed->streams; err == OK && s; s = s->next)
		for (size_t i = 0; i < count && !s->is_refused; i++)
			s->is_refused = !may_read[i] && is_same_reader(&s->reader, &readers[i]);
	pthread_mutex_unlock(&feed->lock);
	free(may_read);
	free(readers);
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
		check_access(feed);
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
