#include "services/analytics-consumer/storing.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "lib/base/entropy.h"
#include "lib/base/mem.h"
#include "lib/base/trace_context.h"

#define SETTLE_STEP_MS 200
#define PAUSE_FIRST_MS 50
#define PAUSE_MAX_MS 5000
#define REFUSED_PAUSE_MS 1000
#define QUEUE_PAUSE_MS 1

struct storing {
	struct storing_config config;
	struct batch batch;
	struct progress progress;  /* of it: where its partitions stood, and where it takes them */
	struct background *thread; /* NULL: there is none */
	enum err result;           /* the thread's until it is over */
	int64_t published_seen;
	atomic_bool is_over;
	atomic_bool hurries;
	atomic_bool is_refused;
	atomic_bool waits_for_letters;
};

struct storing *storing_new(const struct storing_config *config)
{
	struct storing *s = mem_zero(sizeof(*s));
	s->config = *config;
	batch_init(&s->batch, config->batch_events, config->topic, config->dead_letter_topic);
	return s;
}

void storing_free(struct storing *s)
{
	if (!s)
		return;
	batch_clear(&s->batch);
	progress_clear(&s->progress);
	free(s);
}

/* Also when the pause is over early, because the end has been asked for. */
static bool is_last_try(struct storing *s, int64_t pause_ms)
{
	return background_wait_ms(s->config.background, pause_ms) || atomic_load(&s->hurries);
}

enum err storing_settle(struct storing *s)
{
	enum err err;
	do {
		err = visit_publisher_settle(s->config.publisher, SETTLE_STEP_MS);
		int64_t acked = visit_publisher_acked(s->config.publisher);
		metrics_add(s->config.metrics->visits_published, acked - s->published_seen);
		s->published_seen = acked;
	} while (err == ERR_UNAVAILABLE && !is_last_try(s, 0));
	if (err == ERR_INTERNAL) {
		log_error(s->config.log, "visits_refused");
		(void)is_last_try(s, REFUSED_PAUSE_MS);
	}
	return err;
}

static bool is_passing(enum err err)
{
	return err == ERR_UNAVAILABLE || err == ERR_LIMIT;
}

/* A Kafka that does everything else: its topic is missing, or we may not write to it. */
static void note_letters(struct storing *s)
{
	size_t overdue = dead_letter_list_overdue(s->batch.dead_letters);
	atomic_store(&s->waits_for_letters, overdue > 0);
	if (overdue > 0)
		log_error(s->config.log, "dead_letters_refused", LOG_TEXT("topic", s->config.dead_letter_topic),
		          LOG_INT("count", overdue));
}

/* Until it is stored, or it is not ours, or there is no time for another try. */
static enum err store(struct storing *s)
{
	int64_t next_pause_ms = PAUSE_FIRST_MS;
	/* A commit says up to where all is published: everything before this batch. */
	enum err err = storing_settle(s);
	if (err != OK)
		return err;
	for (;;) {
		err = visit_store_add(s->config.store, &s->batch, &s->progress);
		note_letters(s);
		atomic_store(&s->is_refused, err != OK && err != ERR_CONFLICT && !is_passing(err));
		if (err == OK || err == ERR_CONFLICT)
			return err;
		metrics_add(s->config.metrics->batches_retried, 1);
		if (!is_passing(err))
			log_error(s->config.log, "batch_refused", LOG_TEXT("result", err_name(err)));
		if (is_last_try(s, next_pause_ms))
			return err;
		next_pause_ms = next_pause_ms * 2 < PAUSE_MAX_MS ? next_pause_ms * 2 : PAUSE_MAX_MS;
	}
}

static void log_traced(const struct storing *s, const struct visit *visit, int64_t delay_us)
{
	char trace_id[TRACE_CONTEXT_ID_SIZE];
	char event_id[ENTROPY_UUID_TEXT_SIZE];
	trace_context_id(visit->traceparent, trace_id);
	entropy_uuid_format(visit->event.event_id, event_id);
	log_info(s->config.log, "visit_counted", LOG_TEXT("trace_id", trace_id), LOG_TEXT("event_id", event_id),
	         LOG_INT("link_id", visit->event.link_id), LOG_INT("delay_ms", delay_us / CLOCK_US_PER_MS));
}

static void note_visits(struct storing *s, int64_t now_us)
{
	for (size_t i = 0; i < s->batch.count; i++) {
		const struct visit *visit = &s->batch.visits[i];
		if (visit->fate != VISIT_NEW)
			continue;
		int64_t delay_us = now_us - visit->event.occurred_at_us;
		metrics_observe(s->config.metrics->delay_seconds, (double)delay_us / (double)CLOCK_US_PER_S);
		if (trace_context_is_sampled(visit->traceparent))
			log_traced(s, visit, delay_us);
	}
}

static void note_stored(struct storing *s, int64_t began_us)
{
	const struct ingest_metrics *metrics = s->config.metrics;
	const struct clock *clock = s->config.clock;
	int64_t now_us = clock_now_us(clock);
	struct batch_sums sums = batch_sum(&s->batch);
	metrics_add(metrics->humans, sums.humans);
	metrics_add(metrics->bots, sums.bots);
	metrics_add(metrics->repeats, sums.repeats);
	metrics_add(metrics->poisoned, sums.poisoned);
	metrics_add(metrics->batches, 1);
	metrics_observe(metrics->batch_seconds, (double)(clock_steady_us(clock) - began_us) / (double)CLOCK_US_PER_S);
	metrics_observe(metrics->batch_events, (double)s->batch.records);
	metrics_set(metrics->last_counted, now_us / CLOCK_US_PER_S);
	note_visits(s, now_us);
	if (sums.poisoned > 0)
		log_warning(s->config.log, "messages_poisoned", LOG_INT("count", sums.poisoned));
}

/* Until all is handed over; what is left over when we end is published by the next owner. */
static enum err publish(struct storing *s)
{
	size_t done = 0;
	enum err err;
	do {
		err = visit_publisher_send(s->config.publisher, s->batch.visits, s->batch.count, &done);
	} while (err == ERR_LIMIT && !is_last_try(s, QUEUE_PAUSE_MS));
	if (err != OK && err != ERR_LIMIT)
		log_error(s->config.log, "visit_refused", LOG_TEXT("result", err_name(err)));
	return err;
}

static void run(void *ctx)
{
	struct storing *s = ctx;
	int64_t began_us = clock_steady_us(s->config.clock);
	enum err err = store(s);
	if (err == OK) {
		note_stored(s, began_us);
		err = publish(s);
	} else if (err == ERR_CONFLICT) {
		metrics_add(s->config.metrics->batches_fenced, 1);
		log_warning(s->config.log, "batch_fenced", LOG_INT("records", s->batch.records));
	}
	s->result = err;
	atomic_store(&s->is_over, true);
}

void storing_begin(struct storing *s, struct batch *batch, struct progress *progress)
{
	struct batch empty = s->batch;
	s->batch = *batch;
	*batch = empty;
	progress_hand_over(progress, &s->progress);
	atomic_store(&s->is_over, false);
	s->thread = background_new();
	background_start(s->thread, "store", run, s);
}

bool storing_is_busy(const struct storing *s)
{
	return s->thread && !atomic_load(&s->is_over);
}

void storing_hurry(struct storing *s)
{
	atomic_store(&s->hurries, true);
}

enum err storing_finish(struct storing *s)
{
	if (!s->thread)
		return OK;
	background_free(s->thread);
	s->thread = NULL;
	atomic_store(&s->hurries, false);
	atomic_store(&s->waits_for_letters, false);
	batch_reset(&s->batch);
	return s->result;
}

const struct progress *storing_progress(const struct storing *s)
{
	return &s->progress;
}

bool storing_is_refused(const struct storing *s)
{
	return atomic_load(&s->is_refused);
}

bool storing_waits_for_dead_letters(const struct storing *s)
{
	return atomic_load(&s->waits_for_letters);
}
