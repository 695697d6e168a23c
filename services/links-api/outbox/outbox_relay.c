#include "services/links-api/outbox/outbox_relay.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/entropy.h"
#include "lib/base/mem.h"
#include "lib/base/thread.h"
#include "lib/links/outbox.h"
#include "lib/postgres/fenced_lock.h"
#include "lib/postgres/pg_conn.h"
#include "lib/postgres/pg_schema.h"
#include "services/links-api/outbox/database_epoch_store.h"
#include "services/links-api/outbox/outbox_cache_updater.h"
#include "services/links-api/outbox/outbox_generation.h"
#include "services/links-api/outbox/outbox_publisher.h"
#include "services/links-api/outbox/outbox_watermark.h"
#include "services/links-api/outbox/token_bucket.h"

#define LOCK_MS 5000
#define SEND_WINDOW_US CLOCK_US_PER_S
#define EXTEND_AFTER_US (CLOCK_US_PER_S / 2)
#define FLUSH_MS OUTBOX_GENERATION_INTERVAL_MS
#define CACHE_BUDGET_US (CLOCK_US_PER_S / 4) /* how long Kafka waits for Redis per window */
#define POLL_MS 1000
#define RETRY_MS 100
#define PG_CONNECT_TIMEOUT_MS 2000
#define PG_STATEMENT_TIMEOUT_MS 3000

struct outbox_relay {
	struct outbox_relay_config config;
	struct thread *thread;
	_Atomic bool active;
	_Atomic int64_t
		held_steady_us; /* when the lock was last confirmed, measured before asking */
	_Atomic int64_t oldest_us;

	/* Used by the thread only. */
	struct pg_conn *conn;
	struct fenced_lock lock;
	struct outbox_publisher *publisher;
	struct outbox_cache_updater updater;
	struct outbox_watermark watermark;
	struct outbox_generation generation;
	struct database_epoch epoch;
	struct token_bucket low_priority_bucket;
	bool has_low_priority;      /* rows may wait that the token bucket did not allow */
	int64_t lag_read_steady_us; /* last reading of the lag */

	struct metric *published;
	struct metric *failures;
	struct metric *waiting;
	struct metric *low_priority;
	struct metric *uncached;
	struct metric *epoch_number;
};

static int64_t steady_us(const struct outbox_relay *relay)
{
	return clock_steady_us(relay->config.clock);
}

/* PostgreSQL and the lock. */

static void set_active(struct outbox_relay *relay, bool is_active)
{
	if (!is_active)
		outbox_generation_reset(&relay->generation);
	if (atomic_exchange(&relay->active, is_active) != is_active)
		log_info(relay->config.log,
		         is_active ? "outbox_relay_active" : "outbox_relay_standby");
}

static void disconnect(struct outbox_relay *relay)
{
	pg_conn_close(relay->conn);
	relay->conn = NULL;
	set_active(relay, false);
}

/* Without a word: the pool of the API logs it. */
static enum err check_schema(struct outbox_relay *relay)
{
	int64_t version;
	enum err err = pg_schema_version(relay->conn, &version);
	if (err == OK && version >= relay->config.schema_version)
		return OK;
	disconnect(relay);
	return ERR_UNAVAILABLE;
}

static enum err connect(struct outbox_relay *relay)
{
	if (relay->conn && pg_conn_is_usable(relay->conn))
		return OK;
	disconnect(relay);
	enum err err =
		pg_conn_open(relay->config.pg_url, "links-api outbox relay", PG_CONNECT_TIMEOUT_MS,
	                     PG_STATEMENT_TIMEOUT_MS, relay->config.log, &relay->conn);
	if (err == OK)
		err = check_schema(relay);
	if (err == OK)
		err = pg_conn_query(relay->conn, "LISTEN " OUTBOX_CHANNEL, NULL, NULL);
	return err;
}

/*
 * Needs no lock: any instance may adopt the history of a server that has just become the primary,
 * and the sooner the better, because links cannot be changed before.
 */
static enum err adopt_epoch(struct outbox_relay *relay)
{
	struct database_epoch epoch;
	enum err err = database_epoch_store_adopt(relay->conn, &epoch);
	if (err != OK || epoch.number == relay->epoch.number)
		return err;
	/* The generation rises with the epoch, so the one in memory is outdated. */
	outbox_generation_reset(&relay->generation);
	metrics_set(relay->epoch_number, epoch.number);
	if (relay->epoch.number != 0)
		log_warning(relay->config.log, "database_epoch_raised",
		            LOG_INT("epoch", epoch.number));
	relay->epoch = epoch;
	return OK;
}

/*
 * OK: nobody else held the lock meanwhile, and we may send for SEND_WINDOW_US. ERR_CONFLICT: the
 * lock was lost.
 */
static enum err extend_lock(struct outbox_relay *relay)
{
	int64_t requested_us = steady_us(relay);
	enum err err = fenced_lock_extend(&relay->lock, relay->conn, LOCK_MS);
	if (err == OK)
		atomic_store(&relay->held_steady_us, requested_us);
	return err;
}

static enum err acquire_lock(struct outbox_relay *relay)
{
	int64_t requested_us = steady_us(relay);
	enum err err = fenced_lock_acquire(&relay->lock, relay->conn, LOCK_MS);
	if (err == OK) {
		atomic_store(&relay->held_steady_us, requested_us);
		outbox_watermark_reset(&relay->watermark);
	}
	return err;
}

static int64_t held_for_us(const struct outbox_relay *relay)
{
	return steady_us(relay) - atomic_load(&relay->held_steady_us);
}

/*
 * OK: this relay holds the lock for at least SEND_WINDOW_US - EXTEND_AFTER_US more.
 * ERR_CONFLICT: another relay holds it. Called every 100 ms, so usually the last extension is still
 * fresh.
 */
static enum err ensure_lock(struct outbox_relay *relay)
{
	if (atomic_load(&relay->active) && held_for_us(relay) < EXTEND_AFTER_US)
		return OK;
	enum err err = relay->lock.fence ? extend_lock(relay) : ERR_CONFLICT;
	if (err == ERR_CONFLICT)
		err = acquire_lock(relay);
	set_active(relay, err == OK);
	return err;
}

static bool may_send(const struct outbox_relay *relay)
{
	return held_for_us(relay) < SEND_WINDOW_US;
}

/* Batches and windows. */

static bool contains_slug(const struct outbox_batch *batch, size_t begin, size_t end,
                          const char *slug)
{
	for (size_t i = begin; i < end; i++)
		if (strcmp(batch->rows[i].slug, slug) == 0)
			return true;
	return false;
}

/*
 * The rows from begin up to the second event of any slug: they may be in flight together. A window
 * never mixes priorities.
 */
static struct outbox_batch next_window(const struct outbox_batch *batch, size_t begin)
{
	size_t end = begin + 1;
	bool is_low_priority = batch->rows[begin].is_low_priority;
	while (end < batch->count && batch->rows[end].is_low_priority == is_low_priority &&
	       !contains_slug(batch, begin, end, batch->rows[end].slug))
		end++;
	return (struct outbox_batch){ batch->rows + begin, end - begin };
}

static void maintain_generation(struct outbox_relay *relay)
{
	if (relay->conn && pg_conn_is_usable(relay->conn) && atomic_load(&relay->active))
		outbox_generation_maintain(&relay->generation, relay->conn, &relay->lock,
		                           atomic_load(&relay->held_steady_us));
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
		enum err extended = extend_lock(relay);
		if (extended == OK)
			maintain_generation(relay);
	}
}

/* Returns how many rows, from the first on, Kafka's client accepted. */
static size_t send_rows(struct outbox_relay *relay, const struct outbox_batch *window,
                        enum err *err)
{
	size_t sent = 0;
	*err = may_send(relay) ? OK : extend_lock(relay);
	while (*err == OK && sent < window->count) {
		*err = may_send(relay)
		               ? outbox_publisher_send(relay->publisher, &window->rows[sent])
		               : ERR_UNAVAILABLE;
		sent += *err == OK;
	}
	return sent;
}

static enum err publish_window(struct outbox_relay *relay, struct outbox_batch *window)
{
	outbox_cache_updater_apply(&relay->updater, window, steady_us(relay) + CACHE_BUDGET_US);
	enum err err;
	struct outbox_batch acked = { window->rows, send_rows(relay, window, &err) };
	enum err flushed = flush(relay);
	if (err != OK || flushed != OK)
		metrics_add(relay->failures, 1);
	if (flushed != OK || acked.count == 0)
		return err != OK ? err : flushed;
	metrics_add(relay->published, (int64_t)acked.count);
	enum err recorded = outbox_set_published(relay->conn, &acked);
	return err != OK ? err : recorded;
}

static enum err publish_batch(struct outbox_relay *relay, const struct outbox_batch *batch)
{
	enum err err = OK;
	for (size_t begin = 0; err == OK && begin < batch->count;) {
		struct outbox_batch window = next_window(batch, begin);
		err = publish_window(relay, &window);
		begin += window.count;
	}
	return err;
}

/* *more: high-priority rows may be left. */
static enum err read_batch(struct outbox_relay *relay, struct outbox_batch *batch, bool *more)
{
	int64_t allowance = token_bucket_available(&relay->low_priority_bucket, steady_us(relay));
	enum err err =
		outbox_read(relay->conn, OUTBOX_PUBLISHER_ROWS_MAX, (size_t)allowance, batch);
	if (err != OK)
		return err;
	size_t high_priority = 0;
	while (high_priority < batch->count && !batch->rows[high_priority].is_low_priority)
		high_priority++;
	int64_t low_priority = (int64_t)(batch->count - high_priority);
	token_bucket_spend(&relay->low_priority_bucket, low_priority);
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
		err = ensure_lock(relay);
		if (err == OK)
			err = outbox_watermark_begin(&relay->watermark, relay->conn,
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
			outbox_watermark_publish(&relay->watermark, relay->updater.generation,
			                         relay->epoch.link_version_base, &relay->lock,
			                         relay->conn, steady_us(relay));
		outbox_batch_clear(&batch);
		maintain_generation(relay);
	}
	if (err == ERR_CONFLICT)
		set_active(relay, false);
	return err;
}

/* The thread. */

static void read_lag(struct outbox_relay *relay)
{
	struct outbox_lag lag;
	if (outbox_lag(relay->conn, &lag) != OK)
		return;
	metrics_set(relay->waiting, lag.unpublished);
	metrics_set(relay->low_priority, lag.low_priority);
	metrics_set(relay->uncached, lag.uncached);
	atomic_store(&relay->oldest_us, lag.oldest_us);
}

/* Periodic work, independent of Kafka. */
static void run_periodic_work(struct outbox_relay *relay)
{
	maintain_generation(relay);
	int64_t now_us = steady_us(relay);
	if (!relay->conn || now_us - relay->lag_read_steady_us < POLL_MS * CLOCK_US_PER_MS)
		return;
	relay->lag_read_steady_us = now_us;
	if (pg_conn_is_usable(relay->conn))
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
	enum err err = connect(relay);
	if (err == OK)
		err = adopt_epoch(relay);
	if (err == OK)
		err = publish_all(relay);
	run_periodic_work(relay);
	if (err == OK) {
		err = pg_conn_wait_notification(relay->conn, wait_ms(relay));
	} else if (err == ERR_CONFLICT) {
		/* Discard notifications, which the active relay handles. */
		err = pg_conn_wait_notification(relay->conn, 0);
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
	if (relay->conn && pg_conn_is_usable(relay->conn) && relay->lock.fence) {
		enum err err = fenced_lock_release(&relay->lock, relay->conn, 0);
		(void)err; /* the lock expires by itself */
	}
	disconnect(relay);
}

/* The public functions. */

static double is_active_value(void *ctx)
{
	return outbox_relay_is_active(ctx) ? 1 : 0;
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
	relay->uncached = metrics_gauge(metrics, "waymark_outbox_uncached_rows",
	                                "Link events that are not applied to Redis yet", NULL);
	relay->epoch_number = metrics_gauge(
		metrics, "waymark_database_epoch",
		"Epoch of the database: rises when commits may have been lost; 0 = not read yet",
		NULL);
	metrics_gauge_callback(metrics, "waymark_outbox_relay_active",
	                       "1 in the instance whose relay is active", NULL, is_active_value,
	                       relay);
	metrics_gauge_callback(metrics, "waymark_outbox_oldest_seconds",
	                       "Age of the oldest link event that is not published yet", NULL,
	                       oldest_seconds, relay);
}

static enum err init_lock(struct outbox_relay *relay)
{
	uint8_t uuid[ENTROPY_UUID_SIZE];
	char id[ENTROPY_UUID_TEXT_SIZE];
	char holder[FENCED_LOCK_HOLDER_MAX + 1];
	entropy_uuid4(uuid);
	entropy_uuid_format(uuid, id);
	snprintf(holder, sizeof(holder), "links-api-%s", id);
	return fenced_lock_init(&relay->lock, OUTBOX_RELAY_LOCK, holder);
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
	relay->config = *config;
	relay->updater =
		(struct outbox_cache_updater){ .cache = config->cache, .clock = config->clock };
	outbox_generation_init(&relay->generation, &relay->updater, config->redis, config->clock,
	                       config->log, config->metrics);
	token_bucket_init(&relay->low_priority_bucket, config->low_priority_per_second,
	                  OUTBOX_PUBLISHER_ROWS_MAX, steady_us(relay));
	atomic_init(&relay->held_steady_us, INT64_MIN / 2);
	relay->thread = thread_new();
	enum err err = init_lock(relay);
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

bool outbox_relay_is_active(const struct outbox_relay *relay)
{
	return atomic_load(&relay->active) && held_for_us(relay) < LOCK_MS * CLOCK_US_PER_MS;
}

void outbox_relay_stop(struct outbox_relay *relay)
{
	if (!relay)
		return;
	thread_stop(relay->thread);
	free_relay(relay);
}
