#include "services/redirector/feed/link_feed.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/base/thread.h"
#include "lib/base/worker_pool.h"
#include "lib/kafka/kafka_topic_reader.h"
#include "lib/links/link_event.h"
#include "lib/links/watermark.h"

#define POLL_MS 20
#define POLL_BUSY_MS 1
#define REPAIRS_MAX 256
/* One slow reply of Redis while Kafka reconnects must not extend the life of memory entries. */
#define ISOLATED_AFTER_US (2 * CLOCK_US_PER_S)
/* Records that are read before held lookups are advanced. */
#define BATCH_MAX 256
#define UNKNOWN INT64_MIN

/* Indexes of the topics of the reader. */
enum { LINKS, WATERMARKS };

struct link_feed {
	struct link_feed_config config;
	struct kafka_topic_reader *kafka;
	struct worker_pool *repairers;
	pthread_t thread;
	_Atomic bool is_stopping;
	/* The thread's: the last time that the feed was fresh or Redis reachable. */
	int64_t connected_at_us;
	struct metric *events;
	struct metric *resets;
	struct metric *repairs;
};

struct repair {
	struct link_feed *feed;
	struct link_entry entry;
};

static void repair_redis(void *arg)
{
	struct repair *repair = arg;
	/* Best effort: link_cache logs errors, and a newer version in Redis is as good. */
	enum err err = link_cache_set(repair->feed->config.link_cache, &repair->entry);
	metrics_add(repair->feed->repairs, err == OK);
	free(repair);
}

static void queue_repair(struct link_feed *feed, const struct link_entry *entry)
{
	struct repair *repair = mem_zero(sizeof(*repair));
	repair->feed = feed;
	memcpy(&repair->entry, entry, link_entry_size(entry));
	if (worker_pool_submit(feed->repairers, repair_redis, repair) == OK)
		return;
	free(repair);
}

/* The event of a purged link has the state DELETED. */
static void apply_change(struct link_feed *feed, const struct link_entry *entry)
{
	const struct link_feed_config *c = &feed->config;
	char key[SLUG_KEY_SIZE], other[SLUG_KEY_SIZE];
	size_t key_len = link_key(entry, key);
	size_t other_len = slug_key(entry->slug, !entry->is_slug_exact, other);
	slug_bloom_filter_add(c->filter, key, key_len);
	bool was_filled = recent_changes_add(c->changes, key, key_len, clock_steady_us(c->clock));
	memory_cache_apply_change(c->memory, entry);
	/* From before the slug became one that is found in either case. */
	memory_cache_remove(c->memory, other, other_len);
	if (was_filled)
		queue_repair(feed, entry);
	metrics_add(feed->events, 1);
}

/* Perhaps from a newer version of links-api: the link has to be read from a store again. */
static void handle_malformed(struct link_feed *feed, const struct kafka_message *message)
{
	char slug[SLUG_SIZE];
	if (!slug_is_valid(message->key, message->key_len))
		return;
	snprintf(slug, sizeof(slug), "%.*s", (int)message->key_len, (const char *)message->key);
	for (int is_exact = 0; is_exact < 2; is_exact++) {
		char key[SLUG_KEY_SIZE];
		size_t len = slug_key(slug, is_exact, key);
		slug_bloom_filter_add(feed->config.filter, key, len);
		recent_changes_add(feed->config.changes, key, len,
		                   clock_steady_us(feed->config.clock));
		memory_cache_remove(feed->config.memory, key, len);
	}
}

/*
 * PostgreSQL may have lost changes of an earlier epoch. The cache comes first, so that memory is
 * not filled from it again.
 */
static void require_epoch(struct link_feed *feed, const struct watermark *watermark)
{
	link_cache_require_generation(feed->config.link_cache, watermark->generation);
	memory_cache_require_above(feed->config.memory, watermark->version_base);
}

static void handle_watermark(struct link_feed *feed, const struct kafka_message *message)
{
	struct watermark watermark;
	if (watermark_decode(message->value, message->value_len, &watermark) != OK)
		return;
	link_feed_clock_learn(feed->config.corrected, watermark.as_of_us, watermark.version_base);
	require_epoch(feed, &watermark);
	for (int32_t p = 0; p < watermark.partitions; p++)
		if (watermark_tracker_has_lost_end(feed->config.watermark, &watermark, p))
			kafka_topic_reader_skip_to_end(feed->kafka, LINKS, p);
	if (!watermark_tracker_update(feed->config.watermark, &watermark))
		kafka_topic_reader_refresh(feed->kafka);
}

static void handle_link(struct link_feed *feed, const struct kafka_message *message)
{
	struct link_event event;
	if (!message->value)
		return; /* the tombstone after a PURGED event */
	if (link_event_decode(message->value, message->value_len, &event) != OK)
		handle_malformed(feed, message);
	else if (!link_is_respelled(&event.link.entry))
		apply_change(feed, &event.link.entry);
}

static void handle_record(struct link_feed *feed, const struct kafka_message *message)
{
	if (message->topic == WATERMARKS) {
		handle_watermark(feed, message);
		return;
	}
	handle_link(feed, message);
	watermark_tracker_set_position(feed->config.watermark, message->partition,
	                               message->offset + 1);
}

static void on_partitions_found(void *ctx, int topic, int32_t count)
{
	struct link_feed *feed = ctx;
	if (topic == LINKS)
		watermark_tracker_set_partitions(feed->config.watermark, count);
}

static void on_position_lost(void *ctx, int topic, int32_t partition)
{
	struct link_feed *feed = ctx;
	if (topic == LINKS)
		watermark_tracker_reset_partition(feed->config.watermark, partition);
	else
		watermark_tracker_reset(feed->config.watermark);
	metrics_add(feed->resets, 1);
}

static void on_end(void *ctx, int topic, int32_t partition, int64_t offset)
{
	struct link_feed *feed = ctx;
	if (topic == LINKS)
		watermark_tracker_set_position(feed->config.watermark, partition, offset);
}

static enum err open_kafka(struct link_feed *feed)
{
	return kafka_topic_reader_new(
		&(struct kafka_topic_reader_config){
			.kafka = feed->config.kafka,
			.topics = { [LINKS] = feed->config.topic,
	                            [WATERMARKS] = feed->config.watermark_topic },
			.events = { on_partitions_found, on_position_lost, on_end },
			.ctx = feed,
			.log = feed->config.log,
		},
		&feed->kafka);
}

struct open_call {
	struct link_feed *feed;
	enum err result;
};

static void open_at_low_priority(void *ctx)
{
	struct open_call *call = ctx;
	call->result = open_kafka(call->feed);
}

/* Starts over after an error from which librdkafka cannot recover. */
static void reopen_kafka(struct link_feed *feed)
{
	watermark_tracker_reset(feed->config.watermark);
	for (int32_t p = 0; p < feed->config.watermark->partitions; p++)
		watermark_tracker_reset_partition(feed->config.watermark, p);
	metrics_add(feed->resets, 1);
	kafka_topic_reader_free(feed->kafka);
	feed->kafka = NULL;
	enum err err = open_kafka(feed);
	(void)err; /* logged; the next pass of follow retries */
}

/* Adjusts the time to live and advances held lookups. True: more lookups are due at once. */
static bool run_housekeeping(struct link_feed *feed)
{
	const struct link_feed_config *c = &feed->config;
	int64_t now_us = clock_steady_us(c->clock);
	if (watermark_tracker_is_fresh(c->watermark, now_us) || redis_pool_is_reachable(c->redis))
		feed->connected_at_us = now_us;
	bool is_isolated = now_us - feed->connected_at_us >= ISOLATED_AFTER_US;
	int64_t ttl_ms = is_isolated && c->memory_ttl_ms < LINK_FEED_ISOLATED_TTL_MS
	                         ? LINK_FEED_ISOLATED_TTL_MS
	                         : c->memory_ttl_ms;
	memory_cache_set_ttl(c->memory, ttl_ms * CLOCK_US_PER_MS);
	return unknown_slug_limiter_advance(c->limiter);
}

static void *follow(void *arg)
{
	struct link_feed *feed = arg;
	bool is_busy = false;
	thread_lower_priority();
	while (!atomic_load(&feed->is_stopping)) {
		struct kafka_message message;
		enum err err = ERR_INTERNAL;
		int64_t poll_ms = is_busy ? POLL_BUSY_MS : POLL_MS;
		for (int i = 0; i < BATCH_MAX && feed->kafka; i++) {
			err = kafka_topic_reader_poll(feed->kafka, i == 0 ? poll_ms : 0, &message);
			if (err != OK)
				break;
			handle_record(feed, &message);
		}
		if (err == ERR_INTERNAL)
			reopen_kafka(feed);
		is_busy = run_housekeeping(feed);
	}
	return NULL;
}

static double lag_seconds(void *ctx)
{
	return (double)watermark_tracker_lag_us(ctx) / (double)CLOCK_US_PER_S;
}

static double clock_offset_seconds(void *ctx)
{
	return (double)link_feed_clock_offset_us(ctx) / (double)CLOCK_US_PER_S;
}

static double is_fresh_value(void *ctx)
{
	const struct watermark_tracker *watermark = ctx;
	return watermark_tracker_is_fresh(watermark, clock_steady_us(watermark->clock)) ? 1 : 0;
}

static double ttl_seconds(void *ctx)
{
	return (double)memory_cache_ttl_us(ctx) / (double)CLOCK_US_PER_S;
}

static void register_metrics(struct link_feed *feed)
{
	struct metrics *m = feed->config.metrics;
	feed->events = metrics_counter(m, "waymark_feed_events_total",
	                               "Link events read from the feed.", NULL);
	feed->resets = metrics_counter(
		m, "waymark_feed_resets_total",
		"Times that the feed lost its position and may have missed events.", NULL);
	feed->repairs = metrics_counter(
		m, "waymark_feed_repairs_total",
		"Changes written to Redis because a late fill by this process may have overwritten them.",
		NULL);
	metrics_gauge_callback(m, "waymark_feed_lag_seconds",
	                       "Age of the watermark: how far the feed of link events lags.", NULL,
	                       lag_seconds, feed->config.watermark);
	metrics_gauge_callback(
		m, "waymark_clock_offset_seconds",
		"This machine's clock minus PostgreSQL's, including the delivery of a watermark.",
		NULL, clock_offset_seconds, feed->config.corrected);
	metrics_gauge_callback(m, "waymark_feed_is_fresh",
	                       "1 while the feed lags little enough to keep memory entries fresh.",
	                       NULL, is_fresh_value, feed->config.watermark);
	metrics_gauge_callback(m, "waymark_memory_cache_ttl_seconds",
	                       "Time to live of memory entries that the feed does not keep fresh.",
	                       NULL, ttl_seconds, feed->config.memory);
}

enum err link_feed_start(const struct link_feed_config *config, struct link_feed **out)
{
	struct link_feed *feed = mem_zero(sizeof(*feed));
	feed->config = *config;
	feed->connected_at_us = clock_steady_us(config->clock);
	struct open_call call = { .feed = feed };
	thread_call_at_lower_priority(open_at_low_priority,
	                              &call); /* a burst of events must not delay visitors */
	if (call.result != OK) {
		free(feed);
		return call.result;
	}
	feed->repairers = worker_pool_new("feed-repair", 1, REPAIRS_MAX);
	register_metrics(feed);
	thread_spawn(&feed->thread, "link-feed", follow, feed);
	*out = feed;
	return OK;
}

void link_feed_stop(struct link_feed *feed)
{
	if (!feed)
		return;
	atomic_store(&feed->is_stopping, true);
	pthread_join(feed->thread, NULL);
	worker_pool_free(feed->repairers);
	kafka_topic_reader_free(feed->kafka);
	free(feed);
}

/* --- the corrected clock --- */

static int64_t now_us(const struct clock *self)
{
	const struct corrected_clock *corrected = (const struct corrected_clock *)self;
	int64_t machine_us = clock_now_us(corrected->machine);
	int64_t lead_us = atomic_load_explicit(&corrected->lead_us, memory_order_relaxed);
	if (lead_us == UNKNOWN)
		return machine_us;
	int64_t postgres_us = clock_steady_us(corrected->machine) + lead_us;
	return machine_us > postgres_us ? machine_us : postgres_us;
}

static int64_t steady_us(const struct clock *self)
{
	return clock_steady_us(((const struct corrected_clock *)self)->machine);
}

void link_feed_clock_init(struct corrected_clock *corrected, const struct clock *machine,
                          const struct log *log)
{
	*corrected = (struct corrected_clock){
		.clock = { .now_us = now_us, .steady_us = steady_us },
		.machine = machine,
		.log = log,
		.window_end_us = clock_steady_us(machine) + LINK_FEED_CLOCK_WINDOW_US,
		.current_us = UNKNOWN,
		.previous_us = UNKNOWN,
	};
	atomic_init(&corrected->lead_us, UNKNOWN);
}

int64_t link_feed_clock_offset_us(const struct corrected_clock *corrected)
{
	int64_t lead_us = atomic_load(&corrected->lead_us);
	return lead_us == UNKNOWN ? 0
	                          : clock_now_us(corrected->machine) -
	                                    clock_steady_us(corrected->machine) - lead_us;
}

static void log_offset(struct corrected_clock *corrected)
{
	int64_t offset_us = link_feed_clock_offset_us(corrected);
	bool is_too_large = llabs(offset_us) > LINK_FEED_CLOCK_OFFSET_MAX_US;
	if (is_too_large && !corrected->is_logged)
		log_warning(corrected->log, "clock_offset_too_large",
		            LOG_INT("offset_ms", offset_us / CLOCK_US_PER_MS));
	else if (!is_too_large && corrected->is_logged)
		log_info(corrected->log, "clock_offset_normal",
		         LOG_INT("offset_ms", offset_us / CLOCK_US_PER_MS));
	corrected->is_logged = is_too_large;
}

/* After an outage the first watermarks may be late, so the last window before it still counts. */
static void begin_window(struct corrected_clock *corrected, int64_t now)
{
	log_offset(corrected);
	corrected->previous_us = corrected->current_us;
	corrected->current_us = UNKNOWN;
	corrected->window_end_us = now + LINK_FEED_CLOCK_WINDOW_US;
}

void link_feed_clock_learn(struct corrected_clock *corrected, int64_t postgres_us,
                           int64_t version_base)
{
	int64_t now = clock_steady_us(corrected->machine);
	int64_t lead_us = postgres_us - now;
	if (version_base < corrected->version_base)
		return;
	if (version_base > corrected->version_base) {
		corrected->version_base = version_base;
		corrected->current_us = corrected->previous_us = UNKNOWN;
	}
	if (now >= corrected->window_end_us)
		begin_window(corrected, now);
	if (lead_us > corrected->current_us)
		corrected->current_us = lead_us;
	int64_t largest_us = corrected->current_us > corrected->previous_us
	                             ? corrected->current_us
	                             : corrected->previous_us;
	atomic_store(&corrected->lead_us, largest_us);
}
