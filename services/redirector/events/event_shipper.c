#include "services/redirector/events/event_shipper.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>
#include <xxhash.h>

#include "lib/base/mem.h"
#include "lib/base/thread.h"
#include "lib/clicks/redirect_batch.h"
#include "lib/kafka/cloud_event.h"
#include "lib/kafka/kafka_producer.h"
#include "services/redirector/events/event_packer.h"
#include "services/redirector/journal/journal_shard.h"

#define SOURCE "/waymark/redirector"
/* One shard per slug keeps its events in order; several shards reduce lock contention. */
#define SHARDS 4
#define SEGMENT_BYTES_MAX (8 * 1024 * 1024)
#define SEGMENT_BYTES_MIN (64 * 1024)
/* Unacked events of one shard. */
#define IN_FLIGHT_MAX 65536
/* Batches whose memory the producer holds. */
#define PRODUCER_BATCHES_MAX 10000
#define PRODUCER_BYTES_MAX (32 * 1024 * 1024)
/* Sleep of the shipper when there is nothing to ship. */
#define IDLE_US 10000
/* Events of one shard before the shipper moves to the next. */
#define TURN_EVENTS 1000

struct event_shipper {
	struct kafka_producer *producer;
	/* The thread's. */
	struct event_packer *packer;
	struct journal_shard *shards[SHARDS];
	size_t shard_bytes_max;
	const char *topic;
	const struct log *log;
	pthread_t thread;
	_Atomic bool is_stopping;
	_Atomic bool is_dropping;
	/* Batches are sent at once. */
	_Atomic bool has_ended_linger;
	const struct clock *clock;
	/* Protects the fields below. */
	pthread_mutex_t lock;
	/* Batches that the brokers found too large, oldest first. */
	struct event_batch *refused;
	/* Steady; 0: none yet. */
	int64_t last_loss_us;
	int64_t recent_losses;
	/* By Kafka for good: acked in the journal, counted as dropped. */
	atomic_uint_fast64_t rejected;
	/* Never stored in a journal. */
	atomic_uint_fast64_t dropped;
	struct metric *accepted_total;
	struct metric *acked_total;
	struct metric *queued;
	struct metric *dropped_total;
	struct metric *over_share_total;
	struct metric *journal_bytes;
};

/* dropped and acked are read before the counts that include them, so queued is never negative. */
struct event_shipper_counts event_shipper_count(const struct event_shipper *shipper)
{
	struct event_shipper_counts counts = { 0 };
	uint64_t rejected = atomic_load(&shipper->rejected);
	uint64_t dropped = atomic_load(&shipper->dropped);
	uint64_t appended = 0, acked = 0;
	for (size_t i = 0; i < SHARDS; i++) {
		struct journal_counts shard =
			journal_count(journal_shard_journal(shipper->shards[i]));
		appended += shard.appended;
		acked += shard.acked;
	}
	counts.acked = acked - rejected;
	counts.dropped = dropped + rejected;
	counts.queued = appended - acked;
	counts.accepted = appended + dropped;
	return counts;
}

static void show_counts(void *ctx)
{
	struct event_shipper *shipper = ctx;
	struct event_shipper_counts counts = event_shipper_count(shipper);
	uint64_t bytes = 0, over_share = 0;
	for (size_t i = 0; i < SHARDS; i++) {
		bytes += journal_count(journal_shard_journal(shipper->shards[i])).bytes;
		over_share += journal_shard_over_share(shipper->shards[i]);
	}
	metrics_set(shipper->accepted_total, (int64_t)counts.accepted);
	metrics_set(shipper->acked_total, (int64_t)counts.acked);
	metrics_set(shipper->queued, (int64_t)counts.queued);
	metrics_set(shipper->dropped_total, (int64_t)counts.dropped);
	metrics_set(shipper->over_share_total, (int64_t)over_share);
	metrics_set(shipper->journal_bytes, (int64_t)bytes);
}

/* A popular link fills its own shard while the others have room, so the fullest one is reported. */
static double fullest_shard(void *ctx)
{
	const struct event_shipper *shipper = ctx;
	uint64_t max = 0;
	for (size_t i = 0; i < SHARDS; i++) {
		uint64_t bytes = journal_count(journal_shard_journal(shipper->shards[i])).bytes;
		max = bytes > max ? bytes : max;
	}
	return (double)max / (double)shipper->shard_bytes_max;
}

static void register_metrics(struct event_shipper *shipper, struct metrics *m)
{
	shipper->accepted_total = metrics_counter(
		m, "waymark_events_accepted_total",
		"Events of redirects, including those found in the journal at start.", NULL);
	shipper->acked_total = metrics_counter(m, "waymark_events_acked_total",
	                                       "Events that Kafka has acknowledged.", NULL);
	shipper->queued =
		metrics_gauge(m, "waymark_events_queued",
	                      "Events in the journal that Kafka has not acknowledged.", NULL);
	shipper->dropped_total =
		metrics_counter(m, "waymark_events_dropped_total",
	                        "Events lost: the journal was full, or Kafka rejected them.", NULL);
	shipper->over_share_total = metrics_counter(
		m, "waymark_events_over_share_total",
		"Events lost because their link or network held more of the journal than was free.",
		NULL);
	shipper->journal_bytes =
		metrics_gauge(m, "waymark_journal_bytes", "Size of the journal files.", NULL);
	metrics_gauge_callback(
		m, "waymark_journal_fullest_ratio",
		"Fill level of the fullest journal shard; events of its links are dropped at 1.",
		NULL, fullest_shard, shipper);
	metrics_before_render(m, show_counts, shipper);
}

static bool is_recent(const struct event_shipper *shipper, int64_t now_us)
{
	return shipper->last_loss_us && now_us - shipper->last_loss_us <= CLOCK_US_PER_HOUR;
}

int64_t event_shipper_dropped_lately(void *arg)
{
	struct event_shipper *shipper = arg;
	pthread_mutex_lock(&shipper->lock);
	int64_t count =
		is_recent(shipper, clock_steady_us(shipper->clock)) ? shipper->recent_losses : 0;
	pthread_mutex_unlock(&shipper->lock);
	return count;
}

/* Logs the first of consecutive losses only: there may be thousands per second. */
static void note_loss(struct event_shipper *shipper, enum err reason)
{
	int64_t now_us = clock_steady_us(shipper->clock);
	pthread_mutex_lock(&shipper->lock);
	shipper->recent_losses = is_recent(shipper, now_us) ? shipper->recent_losses + 1 : 1;
	shipper->last_loss_us = now_us;
	pthread_mutex_unlock(&shipper->lock);
	if (!atomic_exchange(&shipper->is_dropping, true))
		log_error(shipper->log, "events_dropped", LOG_TEXT("reason", err_name(reason)));
}

/* A record of one event, which Kafka will never take. */
static void drop(struct event_shipper *shipper, struct event_batch *batch)
{
	journal_ack(journal_shard_journal(shipper->shards[batch->shard]), batch->ack_ids[0]);
	atomic_fetch_add(&shipper->rejected, 1);
	note_loss(shipper, ERR_INVALID);
	event_packer_free_batch(batch);
}

static void on_refused(struct event_shipper *shipper, struct event_batch *batch)
{
	if (batch->count == 1) {
		drop(shipper, batch);
		return;
	}
	pthread_mutex_lock(&shipper->lock);
	DL_APPEND(shipper->refused, batch);
	pthread_mutex_unlock(&shipper->lock);
}

/* A producer that is closing reports its records as undelivered; they stay in the journal. */
static void on_delivery(void *ctx, void *opaque, enum err result)
{
	struct event_shipper *shipper = ctx;
	struct event_batch *batch = opaque;
	if (result == ERR_INVALID) {
		on_refused(shipper, batch);
		return;
	}
	if (result == OK) {
		struct journal *journal = journal_shard_journal(shipper->shards[batch->shard]);
		for (size_t i = 0; i < batch->count; i++)
			journal_ack(journal, batch->ack_ids[i]);
		if (atomic_load_explicit(&shipper->is_dropping, memory_order_relaxed))
			atomic_store(&shipper->is_dropping, false);
	}
	event_packer_free_batch(batch);
}

static enum err produce(struct event_shipper *shipper, struct event_batch *batch)
{
	struct cloud_event headers;
	struct kafka_record record = {
		.topic = shipper->topic,
		.has_partition = true,
		.partition = batch->partition,
		.value = batch->value,
		.value_len = batch->len,
		.value_is_borrowed = true,
		.opaque = batch,
	};
	cloud_event_headers(&headers, batch->id, clock_now_us(shipper->clock), REDIRECT_BATCH_TYPE,
	                    REDIRECT_BATCH_SCHEMA, SOURCE, NULL, &record);
	return kafka_producer_send(shipper->producer, &record);
}

static void maintain(struct event_shipper *shipper)
{
	for (size_t shard = 0; shard < SHARDS; shard++)
		journal_maintain(journal_shard_journal(shipper->shards[shard]));
}

/* Retries while the producer's queue is full. If the shipper stops, the journal keeps the events. */
static void send(void *ctx, struct event_batch *batch)
{
	struct event_shipper *shipper = ctx;
	enum err err;
	while ((err = produce(shipper, batch)) == ERR_LIMIT &&
	       !atomic_load(&shipper->is_stopping)) {
		maintain(shipper);
		usleep(IDLE_US);
	}
	if (err == ERR_INVALID)
		on_refused(shipper, batch);
	else if (err != OK)
		event_packer_free_batch(batch);
}

static void split_refused(struct event_shipper *shipper, int64_t now_us)
{
	pthread_mutex_lock(&shipper->lock);
	struct event_batch *refused = shipper->refused, *batch, *next;
	shipper->refused = NULL;
	pthread_mutex_unlock(&shipper->lock);
	DL_FOREACH_SAFE(refused, batch, next)
	event_packer_split(shipper->packer, batch, now_us);
}

/* Packs a turn of one shard. Returns the number of events. */
static size_t pack(struct event_shipper *shipper, size_t shard, int64_t now_us)
{
	struct journal_shard_record event;
	size_t count = 0;
	for (; count < TURN_EVENTS && journal_shard_next(shipper->shards[shard], &event); count++)
		event_packer_add(shipper->packer, shard, &event, now_us);
	return count;
}

/* Low priority: shipping the backlog of an outage must not slow the threads that serve visitors. */
static void *run(void *arg)
{
	struct event_shipper *shipper = arg;
	thread_lower_priority();
	while (!atomic_load(&shipper->is_stopping)) {
		int64_t now_us = clock_steady_us(clock_system());
		int32_t partitions = kafka_producer_partitions(shipper->producer);
		size_t count = 0;
		maintain(shipper);
		split_refused(shipper, now_us);
		event_packer_set_partitions(shipper->packer, partitions);
		for (size_t shard = 0; partitions > 0 && shard < SHARDS; shard++)
			count += pack(shipper, shard, now_us);
		event_packer_send_due(shipper->packer, now_us,
		                      atomic_load(&shipper->has_ended_linger));
		if (count == 0)
			usleep(IDLE_US);
	}
	return NULL;
}

static size_t segment_bytes_of(size_t shard_bytes)
{
	size_t bytes = (shard_bytes / 8) & ~(size_t)4095;
	if (bytes > SEGMENT_BYTES_MAX)
		return SEGMENT_BYTES_MAX;
	return bytes < SEGMENT_BYTES_MIN ? SEGMENT_BYTES_MIN : bytes;
}

static void create_shards(struct event_shipper *shipper, const struct event_shipper_config *config)
{
	shipper->shard_bytes_max = config->bytes_max / SHARDS;
	enum err err = journal_make_directory(config->journal_dir, config->log);
	(void)err; /* logged; the journals below refuse appends then */
	for (size_t i = 0; i < SHARDS; i++) {
		char dir[600];
		snprintf(dir, sizeof(dir), "%s/shard-%zu", config->journal_dir, i);
		shipper->shards[i] = journal_shard_new(&(struct journal_config){
			.dir = dir,
			.segment_bytes = segment_bytes_of(shipper->shard_bytes_max),
			.bytes_max = shipper->shard_bytes_max,
			.in_flight_max = IN_FLIGHT_MAX,
			.fsync_ms = config->fsync_ms,
			.clock = config->clock,
			.log = config->log,
		});
	}
}

struct creation {
	struct event_shipper *shipper;
	const struct event_shipper_config *config;
	enum err result;
};

static void create_producer(void *ctx)
{
	struct creation *creation = ctx;
	const struct event_shipper_config *config = creation->config;
	struct kafka_producer_config producer = {
		.kafka = config->kafka,
		.topics = { config->topic },
		.counts_partitions = true,
		.queue_max = PRODUCER_BATCHES_MAX,
		.queue_bytes_max = PRODUCER_BYTES_MAX,
		.linger_ms = 0,
		.message_timeout_ms = 0,
		.delivered = on_delivery,
		.ctx = creation->shipper,
		.log = config->log,
		.metrics = config->metrics,
	};
	creation->result = kafka_producer_new(&producer, &creation->shipper->producer);
}

enum err event_shipper_new(const struct event_shipper_config *config, struct event_shipper **out)
{
	struct event_shipper *shipper = mem_zero(sizeof(*shipper));
	shipper->topic = config->topic;
	shipper->log = config->log;
	shipper->clock = config->clock;
	pthread_mutex_init(&shipper->lock, NULL);
	struct creation creation = { .shipper = shipper, .config = config };
	thread_call_at_lower_priority(create_producer, &creation);
	if (creation.result != OK) {
		free(shipper);
		return creation.result;
	}
	shipper->packer = event_packer_new(SHARDS, send, shipper);
	create_shards(shipper, config);
	register_metrics(shipper, config->metrics);
	thread_spawn(&shipper->thread, "event-shipper", run, shipper);
	*out = shipper;
	return OK;
}

void event_shipper_append(struct event_shipper *shipper, const struct redirect_event *event)
{
	uint64_t slug_hash = XXH3_64bits(event->slug, strlen(event->slug));
	enum err err = journal_shard_append(shipper->shards[slug_hash % SHARDS], event, slug_hash);
	if (err == OK)
		return;
	atomic_fetch_add(&shipper->dropped, 1);
	note_loss(shipper, err);
}

bool event_shipper_is_healthy(void *arg)
{
	const struct event_shipper *shipper = arg;
	for (size_t i = 0; i < SHARDS; i++)
		if (!journal_is_healthy(journal_shard_journal(shipper->shards[i])))
			return false;
	return true;
}

void event_shipper_end_linger(struct event_shipper *shipper)
{
	atomic_store(&shipper->has_ended_linger, true);
}

enum err event_shipper_flush(struct event_shipper *shipper, int64_t timeout_ms)
{
	int64_t until_us = clock_steady_us(clock_system()) + timeout_ms * CLOCK_US_PER_MS;
	while (event_shipper_count(shipper).queued > 0) {
		if (clock_steady_us(clock_system()) > until_us) {
			log_warning(shipper->log, "events_left_in_journal",
			            LOG_INT("events", event_shipper_count(shipper).queued));
			return ERR_UNAVAILABLE;
		}
		usleep(IDLE_US);
	}
	return OK;
}

void event_shipper_free(struct event_shipper *shipper)
{
	if (!shipper)
		return;
	atomic_store(&shipper->is_stopping, true);
	pthread_join(shipper->thread, NULL);
	kafka_producer_free(shipper->producer);
	event_packer_free(shipper->packer);
	struct event_batch *batch, *next;
	DL_FOREACH_SAFE(shipper->refused, batch, next)
	event_packer_free_batch(batch);
	for (size_t i = 0; i < SHARDS; i++)
		journal_shard_free(shipper->shards[i]);
	pthread_mutex_destroy(&shipper->lock);
	free(shipper);
}
