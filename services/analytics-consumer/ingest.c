#include "services/analytics-consumer/ingest.h"

#include <stdatomic.h>

#include "lib/base/background.h"
#include "lib/base/mem.h"
#include "lib/net/kafka_consumer.h"
#include "lib/net/kafka_producer.h"
#include "services/analytics-consumer/batch.h"
#include "services/analytics-consumer/delivery.h"
#include "services/analytics-consumer/ingest_metrics.h"
#include "services/analytics-consumer/ownership.h"
#include "services/analytics-consumer/visit_publisher.h"
#include "services/analytics-consumer/visit_store.h"

#define IDLE_POLL_MS 100
/* Also longer than a fetch takes after an assignment: before that, what is known of a partition's end may be old. */
#define MARK_INTERVAL_MS 1000
#define SETTLE_STEP_MS 200
#define PAUSE_FIRST_MS 50
#define PAUSE_MAX_MS 5000
#define REFUSED_PAUSE_MS 1000
#define QUEUE_PAUSE_MS 1
#define QUEUE_MAX 100000
#define QUEUE_BYTES_MAX ((size_t)64 * 1024 * 1024)
#define LINGER_MS 5

struct ingest {
	struct ingest_config config;
	struct ingest_metrics metrics;
	struct kafka_consumer *consumer;
	struct kafka_producer *producer;
	struct visit_publisher *publisher;
	struct visit_store *store;
	struct batch batch;
	struct ownership ownership;
	int64_t published_seen;
	int64_t marked_us;  /* steady; when it was last looked up what is caught up */
	int64_t trusted_us; /* ownership.changed_us, when the store was told of it */
	atomic_bool kafka_reachable;
	atomic_bool refused;

	struct background *background;
};

static int64_t steady_us(const struct ingest *in)
{
	return clock_steady_us(in->config.clock);
}

/* --- gather --- */

static enum err poll_once(struct ingest *in, int64_t timeout_ms)
{
	struct kafka_message message;
	enum err err = kafka_consumer_poll(in->consumer, timeout_ms, &message);
	atomic_store(&in->kafka_reachable, err == OK || kafka_consumer_is_reachable(in->consumer));
	if (err == OK) {
		struct progress_partition *p = progress_find(&in->ownership.progress, message.partition);
		metrics_add(in->metrics.events_read, 1);
		if (p)
			batch_add(&in->batch, &in->config.sources, &message, p, clock_now_us(in->config.clock));
		else
			ownership_take_stray(&in->ownership, message.partition);
	}
	ownership_resume(&in->ownership);
	return err;
}

/* Until the batch is full, or batch_ms have passed since its first record, or nothing comes. */
static enum err gather(struct ingest *in)
{
	int64_t deadline_us = 0;
	while (!batch_is_full(&in->batch) && !background_is_ending(in->background)) {
		int64_t left_ms = IDLE_POLL_MS;
		if (!batch_is_empty(&in->batch)) {
			int64_t now_us = steady_us(in);
			if (deadline_us == 0)
				deadline_us = now_us + in->config.batch_ms * CLOCK_US_PER_MS;
			left_ms = (deadline_us - now_us) / CLOCK_US_PER_MS;
			if (left_ms <= 0)
				break;
		}
		enum err err = poll_once(in, left_ms);
		if (err == ERR_INTERNAL)
			return err;
		if (err != OK && batch_is_empty(&in->batch))
			break;
	}
	return OK;
}

/* --- store --- */

/* Until the visits of the batches before are acknowledged. Anything but OK: the batch in hand is gone. */
static enum err wait_published(struct ingest *in)
{
	enum err err;
	do {
		err = visit_publisher_settle(in->publisher, SETTLE_STEP_MS);
		int64_t acked = visit_publisher_acked(in->publisher);
		metrics_add(in->metrics.visits_published, acked - in->published_seen);
		in->published_seen = acked;
	} while (err == ERR_UNAVAILABLE && !background_is_ending(in->background));
	if (err == ERR_INTERNAL) {
		log_error(in->config.log, "visits_refused");
		background_wait_ms(in->background, REFUSED_PAUSE_MS);
		ownership_rejoin(&in->ownership);
	}
	return err;
}

static bool is_passing(enum err err)
{
	return err == ERR_UNAVAILABLE || err == ERR_LIMIT;
}

/* Until it is stored, or it is not ours, or the end has been asked for. */
static enum err store(struct ingest *in)
{
	int64_t next_pause_ms = PAUSE_FIRST_MS;
	enum err err = wait_published(in);
	if (err != OK)
		return err;
	for (;;) {
		err = visit_store_add(in->store, &in->batch, &in->ownership.progress);
		atomic_store(&in->refused, err != OK && err != ERR_CONFLICT && !is_passing(err));
		if (err == OK || err == ERR_CONFLICT)
			return err;
		metrics_add(in->metrics.batches_retried, 1);
		if (!is_passing(err))
			log_error(in->config.log, "batch_refused", LOG_TEXT("result", err_name(err)));
		if (background_wait_ms(in->background, next_pause_ms))
			return err;
		next_pause_ms = next_pause_ms * 2 < PAUSE_MAX_MS ? next_pause_ms * 2 : PAUSE_MAX_MS;
	}
}

static void log_traced(const struct ingest *in, const struct visit *visit, int64_t delay_us)
{
	char trace_id[TRACE_CONTEXT_ID_SIZE];
	char event_id[ENTROPY_UUID_TEXT_SIZE];
	trace_context_id(visit->traceparent, trace_id);
	entropy_uuid_format(visit->event.event_id, event_id);
	log_info(in->config.log, "visit_counted", LOG_TEXT("trace_id", trace_id), LOG_TEXT("event_id", event_id),
	         LOG_INT("link_id", visit->event.link_id), LOG_INT("delay_ms", delay_us / CLOCK_US_PER_MS));
}

static void note_visits(struct ingest *in, int64_t now_us)
{
	for (size_t i = 0; i < in->batch.count; i++) {
		const struct visit *visit = &in->batch.visits[i];
		if (visit->fate != VISIT_NEW)
			continue;
		int64_t delay_us = now_us - visit->event.occurred_at_us;
		metrics_observe(in->metrics.delay_seconds, (double)delay_us / (double)CLOCK_US_PER_S);
		if (trace_context_is_sampled(visit->traceparent))
			log_traced(in, visit, delay_us);
	}
}

static void note_stored(struct ingest *in, int64_t began_us)
{
	int64_t now_us = clock_now_us(in->config.clock);
	struct batch_sums sums = batch_sum(&in->batch);
	metrics_add(in->metrics.humans, sums.humans);
	metrics_add(in->metrics.bots, sums.bots);
	metrics_add(in->metrics.repeats, sums.repeats);
	metrics_add(in->metrics.poisoned, sums.poisoned);
	metrics_add(in->metrics.batches, 1);
	metrics_observe(in->metrics.batch_seconds, (double)(steady_us(in) - began_us) / (double)CLOCK_US_PER_S);
	metrics_observe(in->metrics.batch_events, (double)in->batch.records);
	metrics_set(in->metrics.last_counted, now_us / CLOCK_US_PER_S);
	note_visits(in, now_us);
	if (sums.poisoned > 0)
		log_warning(in->config.log, "messages_poisoned", LOG_INT("count", sums.poisoned));
}

static void report_progress(struct ingest *in)
{
	const struct progress *progress = &in->ownership.progress;
	for (size_t i = 0; i < progress->count; i++) {
		const struct progress_partition *p = &progress->partitions[i];
		if (progress_moves(p))
			kafka_consumer_report_progress(in->consumer, p->partition, p->next);
	}
}

/* --- publish --- */

/* Until all is handed over; the acknowledgements are waited for before the next batch is stored. */
static void publish(struct ingest *in)
{
	size_t done = 0;
	enum err err;
	do {
		err = visit_publisher_send(in->publisher, in->batch.visits, in->batch.count, &done);
		/* What is left over when we end is published by the next owner. */
	} while (err == ERR_LIMIT && !background_wait_ms(in->background, QUEUE_PAUSE_MS));
	if (err == OK) {
		progress_publish(&in->ownership.progress);
	} else if (err != ERR_LIMIT) {
		log_error(in->config.log, "visit_refused", LOG_TEXT("result", err_name(err)));
		ownership_rejoin(&in->ownership);
	}
}

/* --- the loop --- */

static void tell_of_new_partitions(struct ingest *in)
{
	if (in->trusted_us == in->ownership.changed_us)
		return;
	in->trusted_us = in->ownership.changed_us;
	visit_store_forget(in->store);
}

/* True when it was stored. */
static bool count_batch(struct ingest *in)
{
	int64_t began_us = steady_us(in);
	tell_of_new_partitions(in);
	enum err err = store(in);
	if (err == OK) {
		note_stored(in, began_us);
		report_progress(in);
		progress_keep(&in->ownership.progress);
		publish(in);
	} else if (err == ERR_CONFLICT) {
		metrics_add(in->metrics.batches_fenced, 1);
		log_warning(in->config.log, "batch_fenced", LOG_INT("records", in->batch.records));
		ownership_rejoin(&in->ownership);
	}
	ownership_throw_batch_away(&in->ownership);
	return err == OK;
}

static bool find_caught_up(struct ingest *in)
{
	struct progress *progress = &in->ownership.progress;
	bool any = false;
	for (size_t i = 0; i < progress->count; i++) {
		struct progress_partition *p = &progress->partitions[i];
		p->caught_up = kafka_consumer_partition_lag(in->consumer, p->partition) == 0;
		any = any || p->caught_up;
	}
	return any;
}

/*
 * All that was polled is stored. Says in the store of which partitions nothing else waits, however busy the others are,
 * so that statistics can tell "no clicks" from "not counted yet".
 */
static void note_caught_up(struct ingest *in)
{
	int64_t now_us = steady_us(in);
	int64_t since_us = in->marked_us > in->ownership.changed_us ? in->marked_us : in->ownership.changed_us;
	if (now_us - since_us < MARK_INTERVAL_MS * CLOCK_US_PER_MS || !atomic_load(&in->kafka_reachable))
		return;
	in->marked_us = now_us;
	int64_t as_of_us = clock_now_us(in->config.clock);
	if (find_caught_up(in) && wait_published(in) == OK)
		ownership_mark_published(&in->ownership, as_of_us);
}

static enum err make_consumer(struct ingest *in)
{
	const struct kafka_consumer_config config = {
		.kafka = in->config.kafka,
		.group = in->config.group,
		.topic = in->config.topic,
		.session_timeout_ms = in->config.session_timeout_ms,
		.events = ownership_events,
		.ctx = &in->ownership,
		.log = in->config.log,
		.metrics = NULL,
	};
	enum err err = kafka_consumer_new(&config, &in->consumer);
	in->ownership.consumer = in->consumer;
	return err;
}

/* librdkafka's consumer has failed for good; a new one begins with what is stored. */
static void renew_consumer(struct ingest *in)
{
	atomic_store(&in->kafka_reachable, false);
	kafka_consumer_free(in->consumer);
	in->consumer = NULL;
	ownership_throw_batch_away(&in->ownership);
	while (make_consumer(in) != OK && !background_wait_ms(in->background, PAUSE_MAX_MS))
		continue;
}

static void run(void *ctx)
{
	struct ingest *in = ctx;
	while (!background_is_ending(in->background)) {
		if (gather(in) != OK) {
			renew_consumer(in);
			continue;
		}
		ingest_metrics_set(&in->metrics.lag, kafka_consumer_lag(in->consumer));
		if (batch_is_empty(&in->batch) || count_batch(in))
			note_caught_up(in);
	}
}

static enum err make_producer(struct ingest *in)
{
	const struct kafka_producer_config config = {
		.kafka = in->config.kafka,
		.topics = { in->config.visits_topic, in->config.dead_letter_topic },
		.queue_max = QUEUE_MAX,
		.queue_bytes_max = QUEUE_BYTES_MAX,
		.linger_ms = LINGER_MS,
		.message_timeout_ms = 0,
		.delivered = delivery_done,
		.log = in->config.log,
		.metrics = in->config.metrics,
	};
	return kafka_producer_new(&config, &in->producer);
}

static enum err make_parts(struct ingest *in)
{
	const struct ingest_config *config = &in->config;
	in->background = background_new();
	ingest_metrics_register(&in->metrics, config->metrics);
	batch_init(&in->batch, config->batch_events, config->topic, config->dead_letter_topic);
	enum err err = make_producer(in);
	if (err != OK)
		return err;
	in->publisher = visit_publisher_new(in->producer, config->visits_topic);
	const struct visit_store_config store = { .pool = config->pool,
		                                  .producer = in->producer,
		                                  .topic = config->topic,
		                                  .visits_max = config->batch_events,
		                                  .log = config->log };
	in->store = visit_store_new(&store);
	in->ownership = (struct ownership){ .pool = config->pool,
		                            .topic = config->topic,
		                            .publisher = in->publisher,
		                            .batch = &in->batch,
		                            .metrics = &in->metrics,
		                            .clock = config->clock,
		                            .log = config->log };
	return make_consumer(in);
}

static void free_parts(struct ingest *in)
{
	/* Leaving the group gives the partitions back, which still needs everything else. */
	kafka_consumer_free(in->consumer);
	kafka_producer_free(in->producer);
	visit_publisher_free(in->publisher);
	visit_store_free(in->store);
	ownership_clear(&in->ownership);
	batch_clear(&in->batch);
	background_free(in->background);
	free(in);
}

enum err ingest_start(const struct ingest_config *config, struct ingest **out)
{
	struct ingest *in = mem_zero(sizeof(*in));
	in->config = *config;
	enum err err = make_parts(in);
	if (err != OK) {
		free_parts(in);
		return err;
	}
	background_start(in->background, "ingest", run, in);
	*out = in;
	return OK;
}

void ingest_end(struct ingest *ingest)
{
	if (ingest)
		background_ask_to_end(ingest->background);
}

void ingest_stop(struct ingest *ingest)
{
	if (!ingest)
		return;
	background_end(ingest->background);
	free_parts(ingest);
}

bool ingest_kafka_is_reachable(void *ctx)
{
	const struct ingest *in = ctx;
	return atomic_load(&in->kafka_reachable);
}

bool ingest_has_no_stranded_partition(void *ctx)
{
	const struct ingest *in = ctx;
	return atomic_load(&in->ownership.stranded) == 0;
}

bool ingest_is_storing(void *ctx)
{
	const struct ingest *in = ctx;
	return !atomic_load(&in->refused);
}
