#include "services/analytics-consumer/ingest/batch_writer.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "lib/base/entropy.h"
#include "lib/base/mem.h"
#include "lib/base/trace_context.h"

#define FLUSH_STEP_MS 200
#define PAUSE_FIRST_MS 50
#define PAUSE_MAX_MS 5000
#define REFUSED_PAUSE_MS 1000
#define QUEUE_PAUSE_MS 1

/* A batch and the thread that works on it. */
struct stage {
	struct batch batch;
	/* Of the batch: where its partitions start and where it takes them. */
	struct offsets offsets;
	/* NULL when no batch is there. */
	struct thread *thread;
	/* Owned by the thread until is_over. */
	enum err result;
	_Atomic bool is_over;
};

struct batch_writer {
	struct batch_writer_config config;
	struct stage storing;
	/*
	 * The batch before. While a batch is being stored, only its thread starts and finishes this.
	 * Its result is OK once Kafka has all visits, and ERR_UNAVAILABLE if some are on their way.
	 */
	struct stage publishing;
	_Atomic bool retries_cancelled;
	_Atomic bool is_refused;
	_Atomic bool is_waiting_for_dead_letters;
};

struct batch_writer *batch_writer_new(const struct batch_writer_config *config)
{
	struct batch_writer *w = mem_zero(sizeof(*w));
	w->config = *config;
	batch_init(&w->storing.batch, config->batch_events, config->topic,
	           config->dead_letter_topic);
	batch_init(&w->publishing.batch, config->batch_events, config->topic,
	           config->dead_letter_topic);
	return w;
}

void batch_writer_free(struct batch_writer *w)
{
	if (!w)
		return;
	batch_clear(&w->storing.batch);
	offsets_clear(&w->storing.offsets);
	batch_clear(&w->publishing.batch);
	offsets_clear(&w->publishing.offsets);
	free(w);
}

static void start(struct stage *stage, const char *name, void (*run)(void *ctx),
                  struct batch_writer *w)
{
	atomic_store(&stage->is_over, false);
	stage->thread = thread_new();
	thread_start(stage->thread, name, run, w);
}

/* Waits for the thread and empties the stage. OK at once when there is no batch. */
static enum err finish(struct stage *stage)
{
	if (!stage->thread)
		return OK;
	thread_free(stage->thread);
	stage->thread = NULL;
	batch_reset(&stage->batch);
	return stage->result;
}

/* False: no further attempt. The pause ends early when the loop's thread is asked to end. */
static bool pause_before_retry(struct batch_writer *w, int64_t pause_ms)
{
	return !thread_wait_ms(w->config.thread, pause_ms) && !atomic_load(&w->retries_cancelled);
}

/* Waits up to timeout_ms for Kafka to acknowledge the visits. Results as visit_publisher_flush. */
static enum err await_acks(struct batch_writer *w, int64_t timeout_ms)
{
	enum err err = publish_visits_flush(w->config.publisher, timeout_ms);
	if (err == ERR_INTERNAL) {
		log_error(w->config.log, "visits_refused");
		(void)pause_before_retry(w, REFUSED_PAUSE_MS);
	}
	return err;
}

static enum err await_acks_or_cancel(struct batch_writer *w)
{
	enum err err;
	do {
		err = await_acks(w, FLUSH_STEP_MS);
	} while (err == ERR_UNAVAILABLE && pause_before_retry(w, 0));
	return err;
}

static bool is_transient(enum err err)
{
	return err == ERR_UNAVAILABLE || err == ERR_LIMIT;
}

/* Kafka may work and still refuse dead letters: no topic, or no right to write to it. */
static void note_dead_letters(struct batch_writer *w)
{
	size_t overdue = publish_letters_overdue(w->storing.batch.dead_letters);
	atomic_store(&w->is_waiting_for_dead_letters, overdue > 0);
	if (overdue > 0)
		log_error(w->config.log, "dead_letters_refused",
		          LOG_TEXT("topic", w->config.dead_letter_topic),
		          LOG_INT("count", overdue));
}

/*
 * The commit says from where on visits may be unpublished. That is where this batch starts, or
 * where the previous one starts, if Kafka has not acknowledged its visits yet.
 */
static enum err find_published(struct batch_writer *w)
{
	const struct stage *before = &w->publishing;
	if (!before->thread)
		return OK;
	enum err err = atomic_load(&before->is_over) ? before->result : ERR_UNAVAILABLE;
	if (err != ERR_UNAVAILABLE)
		return err;
	offsets_set_unacked(&w->storing.offsets, &before->offsets);
	return OK;
}

/* Retries until the batch is stored or fenced, or retries are cancelled. */
static enum err store(struct batch_writer *w)
{
	int64_t next_pause_ms = PAUSE_FIRST_MS;
	enum err err = find_published(w);
	if (err != OK)
		return err;
	for (;;) {
		err = visit_store_add(w->config.store, &w->storing.batch, &w->storing.offsets);
		note_dead_letters(w);
		atomic_store(&w->is_refused,
		             err != OK && err != ERR_CONFLICT && !is_transient(err));
		if (err == OK || err == ERR_CONFLICT)
			return err;
		metrics_add(w->config.metrics->batches_retried, 1);
		if (!is_transient(err))
			log_error(w->config.log, "batch_refused",
			          LOG_TEXT("result", err_name(err)));
		if (!pause_before_retry(w, next_pause_ms))
			return err;
		next_pause_ms = next_pause_ms * 2 < PAUSE_MAX_MS ? next_pause_ms * 2 : PAUSE_MAX_MS;
	}
}

static void log_traced(const struct batch_writer *w, const struct visit *visit, int64_t delay_us)
{
	char trace_id[TRACE_CONTEXT_ID_SIZE];
	char event_id[ENTROPY_UUID_TEXT_SIZE];
	trace_context_id(visit->traceparent, trace_id);
	entropy_uuid_format(visit->event.event_id, event_id);
	log_info(w->config.log, "visit_counted", LOG_TEXT("trace_id", trace_id),
	         LOG_TEXT("event_id", event_id), LOG_INT("link_id", visit->event.link_id),
	         LOG_INT("delay_ms", delay_us / CLOCK_US_PER_MS));
}

static void note_visits(struct batch_writer *w, int64_t now_us)
{
	for (size_t i = 0; i < w->storing.batch.count; i++) {
		const struct visit *visit = &w->storing.batch.visits[i];
		if (visit->disposition != VISIT_NEW)
			continue;
		int64_t delay_us = now_us - visit->event.occurred_at_us;
		metrics_observe(w->config.metrics->delay_seconds,
		                (double)delay_us / (double)CLOCK_US_PER_S);
		if (trace_context_is_sampled(visit->traceparent))
			log_traced(w, visit, delay_us);
	}
}

static void note_stored(struct batch_writer *w, int64_t began_us)
{
	const struct ingest_metrics *metrics = w->config.metrics;
	const struct clock *clock = w->config.clock;
	int64_t now_us = clock_now_us(clock);
	struct batch_sums sums = batch_sum(&w->storing.batch);
	metrics_add(metrics->humans, sums.humans);
	metrics_add(metrics->bots, sums.bots);
	metrics_add(metrics->duplicates, sums.duplicates);
	metrics_add(metrics->poisoned, sums.poisoned);
	metrics_add(metrics->batches, 1);
	metrics_observe(metrics->batch_seconds,
	                (double)(clock_steady_us(clock) - began_us) / (double)CLOCK_US_PER_S);
	metrics_observe(metrics->batch_events, (double)w->storing.batch.events);
	note_visits(w, now_us);
	if (sums.poisoned > 0)
		log_warning(w->config.log, "messages_poisoned", LOG_INT("count", sums.poisoned));
}

/*
 * Hands all visits to Kafka. If retries are cancelled before, the partition's next owner publishes
 * the rest.
 */
static enum err send_visits(struct batch_writer *w)
{
	const struct batch *batch = &w->publishing.batch;
	size_t done = 0;
	enum err err;
	do {
		err = publish_visits_send(w->config.publisher, batch->visits, batch->count, &done);
	} while (err == ERR_LIMIT && pause_before_retry(w, QUEUE_PAUSE_MS));
	if (err != OK && err != ERR_LIMIT)
		log_error(w->config.log, "visit_refused", LOG_TEXT("result", err_name(err)));
	return err;
}

static void run_publishing(void *ctx)
{
	struct batch_writer *w = ctx;
	enum err err = send_visits(w);
	w->publishing.result = err == OK ? await_acks_or_cancel(w) : err;
	atomic_store(&w->publishing.is_over, true);
}

/* Begins to publish the batch that is stored, once Kafka has the visits of the one before. */
static enum err publish(struct batch_writer *w)
{
	enum err err = finish(&w->publishing);
	if (err != OK && err != ERR_UNAVAILABLE)
		return err;
	struct batch empty = w->publishing.batch;
	w->publishing.batch = w->storing.batch;
	w->storing.batch = empty;
	offsets_copy(&w->storing.offsets, &w->publishing.offsets);
	start(&w->publishing, "publish", run_publishing, w);
	return OK;
}

static void run_storing(void *ctx)
{
	struct batch_writer *w = ctx;
	int64_t began_us = clock_steady_us(w->config.clock);
	enum err err = store(w);
	if (err == OK) {
		note_stored(w, began_us);
		err = publish(w);
	} else if (err == ERR_CONFLICT) {
		metrics_add(w->config.metrics->batches_fenced, 1);
		log_warning(w->config.log, "batch_fenced",
		            LOG_INT("events", w->storing.batch.events));
	}
	w->storing.result = err;
	atomic_store(&w->storing.is_over, true);
}

void batch_writer_start(struct batch_writer *w, struct batch *batch, struct offsets *offsets)
{
	struct batch empty = w->storing.batch;
	w->storing.batch = *batch;
	*batch = empty;
	offsets_hand_over(offsets, &w->storing.offsets);
	atomic_store(&w->retries_cancelled, false);
	start(&w->storing, "store", run_storing, w);
}

bool batch_writer_is_busy(const struct batch_writer *w)
{
	return w->storing.thread && !atomic_load(&w->storing.is_over);
}

void batch_writer_cancel_retries(struct batch_writer *w)
{
	atomic_store(&w->retries_cancelled, true);
}

enum err batch_writer_finish(struct batch_writer *w)
{
	enum err err = finish(&w->storing);
	atomic_store(&w->is_waiting_for_dead_letters, false);
	return err;
}

enum err batch_writer_flush(struct batch_writer *w)
{
	return finish(&w->publishing);
}

const struct offsets *batch_writer_offsets(const struct batch_writer *w)
{
	return &w->storing.offsets;
}

bool batch_writer_is_refused(const struct batch_writer *w)
{
	return atomic_load(&w->is_refused);
}

bool batch_writer_is_waiting_for_dead_letters(const struct batch_writer *w)
{
	return atomic_load(&w->is_waiting_for_dead_letters);
}
