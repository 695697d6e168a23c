#include "services/links-api/outbox/outbox_relay.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/limiter.h"
#include "lib/base/mem.h"
#include "lib/base/thread.h"
#include "lib/links/outbox.h"
#include "services/links-api/outbox/outbox_generation.h"
#include "services/links-api/outbox/outbox_publisher.h"
#include "services/links-api/outbox/outbox_session.h"
#include "services/links-api/outbox/outbox_watermark.h"

#define POLL_MS 1000
#define RETRY_MS 100
#define FLUSH_MS OUTBOX_GENERATION_INTERVAL_MS
/* How long Kafka waits for Redis per window. */
#define CACHE_BUDGET_US (CLOCK_US_PER_S / 4)
/* Low-priority rows are read in portions: about so many a second, of at least one row. */
#define PORTIONS_PER_SECOND 20

struct outbox_relay {
	const struct clock *clock;
	struct thread *thread;
	struct outbox_session session;
	struct outbox_publisher *publisher;
	_Atomic int64_t oldest_us;

	/* Used by the thread only. */
	struct outbox_watermark watermark;
	struct outbox_generation generation;
	/* At most a batch at once. */
	struct limiter_rule low_priority_rule;
	/* When nothing is owed for low-priority rows; steady clock. */
	int64_t low_priority_free_us;
	/* Low-priority rows may wait that the rule did not allow. */
	bool has_low_priority;
	int64_t lag_read_steady_us;

	struct metric *published;
	struct metric *failures;
	struct metric *waiting;
	struct metric *low_priority;
};

static int64_t steady_us(const struct outbox_relay *relay)
{
	return clock_steady_us(relay->clock);
}

/* --- windows --- */

static bool contains_slug(const struct outbox_batch *batch, size_t begin, size_t end,
                          const char *slug)
{
	for (size_t i = begin; i < end; i++)
		if (strcmp(batch->rows[i].slug, slug) == 0)
			return true;
	return false;
}

/* A window never mixes priorities. */
static struct outbox_batch next_rows(const struct outbox_batch *batch, size_t begin)
{
	size_t end = begin + 1;
	bool is_low_priority = batch->rows[begin].is_low_priority;
	while (end < batch->count && batch->rows[end].is_low_priority == is_low_priority &&
	       !contains_slug(batch, begin, end, batch->rows[end].slug))
		end++;
	return (struct outbox_batch){ batch->rows + begin, end - begin };
}

/* Returns how many rows, from the first on, Kafka's client accepted. */
static size_t send_rows(struct outbox_relay *relay, const struct outbox_batch *rows, enum err *err)
{
	struct outbox_session *session = &relay->session;
	size_t sent = 0;
	*err = outbox_session_may_send(session) ? OK : outbox_session_extend(session);
	while (*err == OK && sent < rows->count) {
		*err = outbox_session_may_send(session)
		               ? outbox_publisher_send(relay->publisher, &rows->rows[sent])
		               : ERR_UNAVAILABLE;
		sent += *err == OK;
	}
	return sent;
}

/*
 * Returns when nothing is in flight any more, or when the relay stops. Records in flight stay ours
 * even if the lock is lost: Kafka's client gives them up before another relay could send later
 * ones.
 */
static enum err flush(struct outbox_relay *relay)
{
	for (;;) {
		enum err err = outbox_publisher_flush(relay->publisher, FLUSH_MS);
		if (err != ERR_LIMIT || thread_is_stopping(relay->thread))
			return err;
		if (outbox_session_extend(&relay->session) == OK)
			outbox_session_maintain_generation(&relay->session);
	}
}

static enum err publish_window(struct outbox_relay *relay, struct outbox_batch *rows)
{
	int64_t now_us = steady_us(relay);
	outbox_generation_apply(&relay->generation, rows, now_us + CACHE_BUDGET_US);
	enum err err;
	struct outbox_batch acked = { rows->rows, send_rows(relay, rows, &err) };
	enum err flushed = flush(relay);
	if (err != OK || flushed != OK)
		metrics_add(relay->failures, 1);
	if (flushed != OK || acked.count == 0)
		return err != OK ? err : flushed;
	metrics_add(relay->published, (int64_t)acked.count);
	enum err recorded = outbox_set_published(relay->session.conn, &acked);
	return err != OK ? err : recorded;
}

/*
 * Publishes what one read of the outbox found, in windows: rows that may be in flight together,
 * which are those up to the second event of any slug. A window goes to Redis, then to Kafka, and
 * its acked rows are recorded before the next window is sent. On an error the rows that were not
 * acked stay in the outbox. ERR_CONFLICT: the lock was lost.
 */
static enum err publish_batch(struct outbox_relay *relay, const struct outbox_batch *batch)
{
	enum err err = OK;
	for (size_t begin = 0; err == OK && begin < batch->count;) {
		struct outbox_batch rows = next_rows(batch, begin);
		err = publish_window(relay, &rows);
		begin += rows.count;
	}
	return err;
}

/* --- reading --- */

static int64_t low_priority_owed_us(const struct outbox_relay *relay)
{
	int64_t owed_us = relay->low_priority_free_us - steady_us(relay);
	return owed_us > 0 ? owed_us : 0;
}

/* At least one row, at most one batch. */
static int64_t low_priority_portion(const struct outbox_relay *relay)
{
	const struct limiter_rule *rule = &relay->low_priority_rule;
	int64_t rows = CLOCK_US_PER_S / PORTIONS_PER_SECOND / limiter_event_us(rule);
	return rows < 1 ? 1 : rows < rule->max ? rows : rule->max;
}

/* *more: high-priority rows may be left. */
static enum err read_batch(struct outbox_relay *relay, struct outbox_batch *batch, bool *more)
{
	const struct limiter_rule *rule = &relay->low_priority_rule;
	int64_t allowance = limiter_left(rule, low_priority_owed_us(relay));
	if (allowance < low_priority_portion(relay))
		allowance = 0;
	enum err err = outbox_read(relay->session.conn, OUTBOX_PUBLISHER_ROWS_MAX,
	                           (size_t)allowance, batch);
	if (err != OK)
		return err;
	size_t high_priority = 0;
	while (high_priority < batch->count && !batch->rows[high_priority].is_low_priority)
		high_priority++;
	int64_t low_priority = (int64_t)(batch->count - high_priority);
	relay->low_priority_free_us =
		steady_us(relay) + limiter_count(rule, low_priority_owed_us(relay), low_priority);
	*more = high_priority == OUTBOX_PUBLISHER_ROWS_MAX;
	if (allowance > 0)
		relay->has_low_priority = low_priority == allowance;
	return OK;
}

/* Publishes until no high-priority row waits. ERR_CONFLICT: another relay is active. */
static enum err publish_all(struct outbox_relay *relay)
{
	bool more = true;
	enum err err = OK;
	while (err == OK && more && !thread_is_stopping(relay->thread)) {
		struct outbox_batch batch = { 0 };
		err = outbox_session_lock(&relay->session);
		if (err == OK)
			err = outbox_watermark_begin(&relay->watermark, relay->session.conn,
			                             steady_us(relay));
		if (err == OK)
			err = read_batch(relay, &batch, &more);
		if (err != OK)
			break;
		outbox_watermark_refresh_ends(&relay->watermark, !more, steady_us(relay));
		err = publish_batch(relay, &batch);
		if (err != OK)
			outbox_watermark_unsettle(&relay->watermark);
		else if (!more)
			outbox_watermark_publish(&relay->watermark, relay->generation.generation,
			                         relay->session.epoch.link_version_base,
			                         &relay->session.lock, relay->session.conn,
			                         steady_us(relay));
		outbox_batch_clear(&batch);
		outbox_session_maintain_generation(&relay->session);
	}
	if (err == ERR_CONFLICT)
		outbox_session_stand_by(&relay->session);
	return err;
}

/* --- the thread --- */

static void read_lag(struct outbox_relay *relay)
{
	struct outbox_lag lag;
	if (outbox_lag(relay->session.conn, &lag) != OK)
		return;
	metrics_set(relay->waiting, lag.unpublished);
	metrics_set(relay->low_priority, lag.low_priority);
	atomic_store(&relay->oldest_us, lag.oldest_us);
}

/* Periodic work, independent of Kafka. */
static void run_periodic_work(struct outbox_relay *relay)
{
	outbox_session_maintain_generation(&relay->session);
	int64_t now_us = steady_us(relay);
	if (!outbox_session_is_open(&relay->session) ||
	    now_us - relay->lag_read_steady_us < POLL_MS * CLOCK_US_PER_MS)
		return;
	relay->lag_read_steady_us = now_us;
	read_lag(relay);
}

static int64_t wait_ms(const struct outbox_relay *relay)
{
	int64_t now_us = steady_us(relay);
	int64_t for_watermark = outbox_watermark_wait_ms(&relay->watermark, now_us);
	const struct limiter_rule *rule = &relay->low_priority_rule;
	int64_t after_portion_us =
		(rule->max - low_priority_portion(relay)) * limiter_event_us(rule);
	int64_t for_portion =
		1 + (low_priority_owed_us(relay) - after_portion_us) / CLOCK_US_PER_MS;
	if (for_portion < 1)
		for_portion = 1;
	return relay->has_low_priority && for_portion < for_watermark ? for_portion : for_watermark;
}

static void run_once(struct outbox_relay *relay)
{
	enum err err = outbox_session_open(&relay->session);
	if (err == OK)
		err = publish_all(relay);
	run_periodic_work(relay);
	if (err == OK) {
		err = pg_conn_wait_notification(relay->session.conn, wait_ms(relay));
	} else if (err == ERR_CONFLICT) {
		/* Discard notifications, which the active relay handles. */
		err = pg_conn_wait_notification(relay->session.conn, 0);
		thread_wait_ms(relay->thread, POLL_MS);
	}
	if (err != OK && err != ERR_NOT_FOUND)
		thread_wait_ms(relay->thread, RETRY_MS);
}

static void run(void *ctx)
{
	struct outbox_relay *relay = ctx;
	while (!thread_is_stopping(relay->thread))
		run_once(relay);
	outbox_session_close(&relay->session);
}

/* --- start and end --- */

static double is_active_value(void *ctx)
{
	const struct outbox_relay *relay = ctx;
	return outbox_session_is_active(&relay->session) ? 1 : 0;
}

static double oldest_seconds(void *ctx)
{
	struct outbox_relay *relay = ctx;
	return (double)atomic_load(&relay->oldest_us) / (double)CLOCK_US_PER_S;
}

static void register_metrics(struct outbox_relay *relay, struct metrics *metrics)
{
	relay->published = metrics_counter(metrics, "waymark_outbox_published_total",
	                                   "Link events acked by Kafka", NULL);
	relay->failures = metrics_counter(
		metrics, "waymark_outbox_publish_failures_total",
		"Windows of link events that were not fully acked and are retried", NULL);
	relay->waiting = metrics_gauge(metrics, "waymark_outbox_waiting_rows",
	                               "Link events that are not published yet", NULL);
	relay->low_priority = metrics_gauge(
		metrics, "waymark_outbox_low_priority_rows",
		"Low-priority link events (expiries and purges) that are not published yet, at most",
		NULL);
	metrics_gauge_callback(metrics, "waymark_outbox_relay_active",
	                       "1 in the instance whose relay is active", NULL, is_active_value,
	                       relay);
	metrics_gauge_callback(metrics, "waymark_outbox_oldest_seconds",
	                       "Age of the oldest link event that is not published yet", NULL,
	                       oldest_seconds, relay);
}

static void free_relay(struct outbox_relay *relay)
{
	outbox_publisher_free(relay->publisher);
	thread_free(relay->thread);
	free(relay);
}

enum err outbox_relay_start(const struct outbox_relay_config *config, struct outbox_relay **out)
{
	struct outbox_relay *relay = mem_zero(sizeof(*relay));
	relay->clock = config->clock;
	relay->session = (struct outbox_session){
		.pg_url = config->pg_url,
		.schema_version = config->schema_version,
		.clock = config->clock,
		.log = config->log,
		.generation = &relay->generation,
		.watermark = &relay->watermark,
	};
	outbox_generation_init(&relay->generation, config->cache, config->redis, config->clock,
	                       config->log, config->metrics);
	relay->low_priority_rule =
		(struct limiter_rule){ OUTBOX_PUBLISHER_ROWS_MAX,
		                       OUTBOX_PUBLISHER_ROWS_MAX * CLOCK_US_PER_S /
		                               config->low_priority_per_second };
	relay->low_priority_free_us = steady_us(relay) + relay->low_priority_rule.window_us;
	relay->thread = thread_new();
	enum err err = outbox_session_init(&relay->session, config->metrics);
	if (err == OK)
		err = outbox_publisher_new(config->kafka, config->log, config->metrics,
		                           &relay->publisher);
	if (err != OK) {
		free_relay(relay);
		return err;
	}
	register_metrics(relay, config->metrics);
	outbox_watermark_init(&relay->watermark, relay->publisher, config->metrics);
	thread_start(relay->thread, "outbox-relay", run, relay);
	*out = relay;
	return OK;
}

bool outbox_relay_reaches_kafka(const struct outbox_relay *relay)
{
	return outbox_publisher_reaches_kafka(relay->publisher);
}

void outbox_relay_stop(struct outbox_relay *relay)
{
	if (!relay)
		return;
	thread_stop(relay->thread);
	free_relay(relay);
}
