#include "services/links-api/outbox/outbox_relay.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "lib/base/mem.h"
#include "lib/base/thread.h"
#include "lib/links/outbox.h"
#include "services/links-api/outbox/outbox_cache_updater.h"
#include "services/links-api/outbox/outbox_generation.h"
#include "services/links-api/outbox/outbox_publisher.h"
#include "services/links-api/outbox/outbox_session.h"
#include "services/links-api/outbox/outbox_watermark.h"
#include "services/links-api/outbox/outbox_window.h"
#include "services/links-api/outbox/token_bucket.h"

#define POLL_MS 1000
#define RETRY_MS 100

struct outbox_relay {
	const struct clock *clock;
	struct thread *thread;
	struct outbox_session session;
	struct outbox_publisher *publisher;
	_Atomic int64_t oldest_us;

	/* Used by the thread only. */
	struct outbox_cache_updater updater;
	struct outbox_window window;
	struct outbox_watermark watermark;
	struct outbox_generation generation;
	struct token_bucket low_priority_bucket;
	/* Rows may wait that the token bucket did not allow. */
	bool has_low_priority;
	int64_t lag_read_steady_us;

	struct metric *waiting;
	struct metric *low_priority;
};

static int64_t steady_us(const struct outbox_relay *relay)
{
	return clock_steady_us(relay->clock);
}

/* *more: high-priority rows may be left. */
static enum err read_batch(struct outbox_relay *relay, struct outbox_batch *batch, bool *more)
{
	int64_t allowance = token_bucket_available(&relay->low_priority_bucket, steady_us(relay));
	enum err err = outbox_read(relay->session.conn, OUTBOX_PUBLISHER_ROWS_MAX,
	                           (size_t)allowance, batch);
	if (err != OK)
		return err;
	size_t high_priority = 0;
	while (high_priority < batch->count && !batch->rows[high_priority].is_low_priority)
		high_priority++;
	int64_t low_priority = (int64_t)(batch->count - high_priority);
	token_bucket_spend(&relay->low_priority_bucket, low_priority, steady_us(relay));
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
		err = outbox_window_publish(&relay->window, &batch);
		if (err != OK)
			outbox_watermark_unsettle(&relay->watermark);
		else if (!more)
			outbox_watermark_publish(&relay->watermark, relay->updater.generation,
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

/* The thread. */

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
	int64_t for_tokens = token_bucket_wait_ms(&relay->low_priority_bucket, now_us);
	return relay->has_low_priority && for_tokens < for_watermark ? for_tokens : for_watermark;
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

/* The public functions. */

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
	relay->updater =
		(struct outbox_cache_updater){ .cache = config->cache, .clock = config->clock };
	relay->session = (struct outbox_session){
		.pg_url = config->pg_url,
		.schema_version = config->schema_version,
		.clock = config->clock,
		.log = config->log,
		.generation = &relay->generation,
		.watermark = &relay->watermark,
	};
	outbox_generation_init(&relay->generation, &relay->updater, config->redis, config->clock,
	                       config->log, config->metrics);
	token_bucket_init(&relay->low_priority_bucket, config->low_priority_per_second,
	                  OUTBOX_PUBLISHER_ROWS_MAX, steady_us(relay));
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
	relay->window = (struct outbox_window){
		.session = &relay->session,
		.publisher = relay->publisher,
		.updater = &relay->updater,
		.thread = relay->thread,
	};
	outbox_window_init(&relay->window, config->metrics);
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
