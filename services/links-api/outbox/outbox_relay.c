#include "services/links-api/outbox/outbox_relay.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/background.h"
#include "lib/base/entropy.h"
#include "lib/base/mem.h"
#include "lib/links/outbox.h"
#include "lib/net/fenced_lock.h"
#include "lib/net/pg_conn.h"
#include "services/links-api/outbox/outbox_generation.h"
#include "services/links-api/outbox/outbox_pace.h"
#include "services/links-api/outbox/outbox_progress.h"
#include "services/links-api/outbox/outbox_publisher.h"
#include "services/links-api/outbox/outbox_teller.h"

#define LOCK_MS 5000
#define SEND_WITHIN_US CLOCK_US_PER_S
#define KEEP_AFTER_US (CLOCK_US_PER_S / 2)
#define SETTLE_MS OUTBOX_GENERATION_PERIOD_MS
#define TELL_WITHIN_US (CLOCK_US_PER_S / 4) /* Kafka waits for Redis no longer than this per window */
#define POLL_MS 1000
#define RETRY_MS 100
#define PG_CONNECT_TIMEOUT_MS 2000
#define PG_STATEMENT_TIMEOUT_MS 3000

struct outbox_relay {
	struct outbox_relay_config config;
	struct background *background;
	atomic_bool active;
	_Atomic int64_t held_steady_us; /* when the lock was last known to be ours: before we asked */
	_Atomic int64_t oldest_us;

	/* The thread's own. */
	struct pg_conn *conn;
	struct fenced_lock lock;
	struct outbox_publisher *publisher;
	struct outbox_teller teller;
	struct outbox_progress progress;
	struct outbox_generation generation;
	struct outbox_pace pace;
	bool has_patient;         /* rows may wait that the pace did not allow */
	int64_t looked_steady_us; /* at the lag */

	struct metric *published;
	struct metric *failures;
	struct metric *waiting;
	struct metric *patient;
	struct metric *uncached;
};

static int64_t steady_us(const struct outbox_relay *relay)
{
	return clock_steady_us(relay->config.clock);
}

/* --- PostgreSQL and the lock --- */

static void set_active(struct outbox_relay *relay, bool is_active)
{
	if (!is_active)
		outbox_generation_leave(&relay->generation);
	if (atomic_exchange(&relay->active, is_active) != is_active)
		log_info(relay->config.log, is_active ? "outbox_relay_active" : "outbox_relay_standby");
}

static void disconnect(struct outbox_relay *relay)
{
	pg_conn_close(relay->conn);
	relay->conn = NULL;
	set_active(relay, false);
}

static enum err connect(struct outbox_relay *relay)
{
	if (relay->conn && pg_conn_usable(relay->conn))
		return OK;
	disconnect(relay);
	enum err err = pg_conn_open(relay->config.pg_url, "links-api outbox relay", PG_CONNECT_TIMEOUT_MS,
	                            PG_STATEMENT_TIMEOUT_MS, relay->config.log, &relay->conn);
	if (err == OK)
		err = pg_conn_query(relay->conn, "LISTEN " OUTBOX_CHANNEL, NULL, NULL);
	return err;
}

/* OK: nobody else has held the lock since we took it, and we may send for SEND_WITHIN_US. ERR_CONFLICT: we lost it. */
static enum err keep(struct outbox_relay *relay)
{
	int64_t asked_us = steady_us(relay);
	enum err err = fenced_lock_extend(&relay->lock, relay->conn, LOCK_MS);
	if (err == OK)
		atomic_store(&relay->held_steady_us, asked_us);
	return err;
}

static enum err take(struct outbox_relay *relay)
{
	int64_t asked_us = steady_us(relay);
	enum err err = fenced_lock_acquire(&relay->lock, relay->conn, LOCK_MS);
	if (err == OK)
		atomic_store(&relay->held_steady_us, asked_us);
	return err;
}

static int64_t held_for_us(const struct outbox_relay *relay)
{
	return steady_us(relay) - atomic_load(&relay->held_steady_us);
}

/*
 * OK: we hold the lock and may read and send for a while: SEND_WITHIN_US less KEEP_AFTER_US at least. ERR_CONFLICT:
 * somebody else works. The relay comes by every 100 ms: most of the time the lock was extended just now.
 */
static enum err hold(struct outbox_relay *relay)
{
	if (atomic_load(&relay->active) && held_for_us(relay) < KEEP_AFTER_US)
		return OK;
	enum err err = relay->lock.fence ? keep(relay) : ERR_CONFLICT;
	if (err == ERR_CONFLICT)
		err = take(relay);
	set_active(relay, err == OK);
	return err;
}

static bool may_send(const struct outbox_relay *relay)
{
	return held_for_us(relay) < SEND_WITHIN_US;
}

/* --- batches and windows --- */

static bool holds_slug(const struct outbox_batch *batch, size_t begin, size_t end, const char *slug)
{
	for (size_t i = begin; i < end; i++)
		if (strcmp(batch->rows[i].slug, slug) == 0)
			return true;
	return false;
}

/*
 * The rows from begin on, up to the second event of any slug: what may be under way to Kafka together. What is urgent
 * is done with before anything patient is begun.
 */
static struct outbox_batch window_of(const struct outbox_batch *batch, size_t begin)
{
	size_t end = begin + 1;
	bool is_patient = batch->rows[begin].is_patient;
	while (end < batch->count && batch->rows[end].is_patient == is_patient &&
	       !holds_slug(batch, begin, end, batch->rows[end].slug))
		end++;
	return (struct outbox_batch){ batch->rows + begin, end - begin };
}

static void tend_redis(struct outbox_relay *relay)
{
	if (relay->conn && pg_conn_usable(relay->conn) && atomic_load(&relay->active))
		outbox_generation_tend(&relay->generation, relay->conn, &relay->lock,
		                       atomic_load(&relay->held_steady_us));
}

/*
 * Whatever happens, nothing is under way any more at the end, unless we are stopping. What is under way is ours even if
 * the lock is lost meanwhile: Kafka's client gives it up before anybody else could have sent the next of it.
 */
static enum err settle(struct outbox_relay *relay)
{
	for (;;) {
		enum err err = outbox_publisher_settle(relay->publisher, SETTLE_MS);
		if (err != ERR_LIMIT || background_is_ending(relay->background))
			return err;
		enum err kept = keep(relay);
		if (kept == OK)
			tend_redis(relay);
	}
}

/* Gives how many rows, from the first on, Kafka's client took. */
static size_t send_rows(struct outbox_relay *relay, const struct outbox_batch *window, enum err *err)
{
	size_t sent = 0;
	*err = may_send(relay) ? OK : keep(relay);
	while (*err == OK && sent < window->count) {
		*err = may_send(relay) ? outbox_publisher_send(relay->publisher, &window->rows[sent]) : ERR_UNAVAILABLE;
		sent += *err == OK;
	}
	return sent;
}

static enum err publish_window(struct outbox_relay *relay, struct outbox_batch *window)
{
	outbox_teller_tell(&relay->teller, window, steady_us(relay) + TELL_WITHIN_US);
	enum err err;
	struct outbox_batch acked = { window->rows, send_rows(relay, window, &err) };
	enum err settled = settle(relay);
	if (err != OK || settled != OK)
		metrics_add(relay->failures, 1);
	if (settled != OK || acked.count == 0)
		return err != OK ? err : settled;
	metrics_add(relay->published, (int64_t)acked.count);
	enum err noted = outbox_set_published(relay->conn, &acked);
	return err != OK ? err : noted;
}

static enum err publish_batch(struct outbox_relay *relay, const struct outbox_batch *batch)
{
	enum err err = OK;
	for (size_t begin = 0; err == OK && begin < batch->count;) {
		struct outbox_batch window = window_of(batch, begin);
		err = publish_window(relay, &window);
		begin += window.count;
	}
	return err;
}

/* *more: urgent rows may be left. */
static enum err read_batch(struct outbox_relay *relay, struct outbox_batch *batch, bool *more)
{
	int64_t allowance = outbox_pace_allowance(&relay->pace, steady_us(relay));
	enum err err = outbox_read(relay->conn, OUTBOX_PUBLISHER_ROWS_MAX, (size_t)allowance, batch);
	if (err != OK)
		return err;
	size_t urgent = 0;
	while (urgent < batch->count && !batch->rows[urgent].is_patient)
		urgent++;
	int64_t patient = (int64_t)(batch->count - urgent);
	outbox_pace_spend(&relay->pace, patient);
	*more = urgent == OUTBOX_PUBLISHER_ROWS_MAX;
	if (allowance > 0)
		relay->has_patient = patient == allowance;
	return OK;
}

/* Publishes until nothing urgent waits. ERR_CONFLICT: somebody else works. */
static enum err publish_all(struct outbox_relay *relay)
{
	bool more = true;
	enum err err = OK;
	while (err == OK && more && !background_is_ending(relay->background)) {
		struct outbox_batch batch = { 0 };
		err = hold(relay);
		if (err == OK)
			err = outbox_progress_begin(&relay->progress, relay->conn, steady_us(relay));
		if (err == OK)
			err = read_batch(relay, &batch, &more);
		if (err != OK)
			break;
		err = publish_batch(relay, &batch);
		if (err == OK && !more)
			outbox_progress_tell(&relay->progress, relay->teller.generation, steady_us(relay));
		outbox_batch_clear(&batch);
		tend_redis(relay);
	}
	if (err == ERR_CONFLICT)
		set_active(relay, false);
	return err;
}

/* --- the thread --- */

static void read_lag(struct outbox_relay *relay)
{
	struct outbox_lag lag;
	if (outbox_lag(relay->conn, &lag) != OK)
		return;
	metrics_set(relay->waiting, lag.unpublished);
	metrics_set(relay->patient, lag.patient);
	metrics_set(relay->uncached, lag.uncached);
	atomic_store(&relay->oldest_us, lag.oldest_us);
}

/* What is to be done again and again, whether Kafka is there or not. */
static void look_after(struct outbox_relay *relay)
{
	tend_redis(relay);
	int64_t now_us = steady_us(relay);
	if (!relay->conn || now_us - relay->looked_steady_us < POLL_MS * CLOCK_US_PER_MS)
		return;
	relay->looked_steady_us = now_us;
	if (pg_conn_usable(relay->conn))
		read_lag(relay);
}

static int64_t wait_ms(const struct outbox_relay *relay)
{
	int64_t now_us = steady_us(relay);
	int64_t for_mark = outbox_progress_wait_ms(&relay->progress, now_us);
	int64_t for_portion = outbox_pace_wait_ms(&relay->pace, now_us);
	return relay->has_patient && for_portion < for_mark ? for_portion : for_mark;
}

static void work_once(struct outbox_relay *relay)
{
	enum err err = connect(relay);
	if (err == OK)
		err = publish_all(relay);
	look_after(relay);
	if (err == OK) {
		err = pg_conn_wait_notification(relay->conn, wait_ms(relay));
	} else if (err == ERR_CONFLICT) {
		/* What is meant for the other one must not pile up here. */
		err = pg_conn_wait_notification(relay->conn, 0);
		background_wait_ms(relay->background, POLL_MS);
	}
	if (err != OK && err != ERR_NOT_FOUND)
		background_wait_ms(relay->background, RETRY_MS);
}

static void run(void *ctx)
{
	struct outbox_relay *relay = ctx;
	while (!background_is_ending(relay->background))
		work_once(relay);
	if (relay->conn && pg_conn_usable(relay->conn) && relay->lock.fence) {
		enum err err = fenced_lock_release(&relay->lock, relay->conn, 0);
		(void)err; /* it runs out by itself */
	}
	disconnect(relay);
}

/* --- the handle --- */

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
	relay->published =
		metrics_counter(metrics, "waymark_outbox_published_total", "Link events acked by Kafka", NULL);
	relay->failures = metrics_counter(metrics, "waymark_outbox_publish_failures_total",
	                                  "Windows of link events that were not all acked and are sent again", NULL);
	relay->waiting =
		metrics_gauge(metrics, "waymark_outbox_waiting_rows", "Link events that are not published yet", NULL);
	relay->patient = metrics_gauge(metrics, "waymark_outbox_patient_rows",
	                               "The janitor's marks and purges that are not published yet, at most", NULL);
	relay->uncached = metrics_gauge(metrics, "waymark_outbox_uncached_rows",
	                                "Link events whose link Redis does not have yet", NULL);
	metrics_gauge_callback(metrics, "waymark_outbox_relay_active", "1 in the one instance whose relay works", NULL,
	                       is_active_value, relay);
	metrics_gauge_callback(metrics, "waymark_outbox_oldest_seconds",
	                       "Age of the oldest link event that is not published yet", NULL, oldest_seconds, relay);
}

static enum err name_lock(struct outbox_relay *relay)
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
	background_free(relay->background);
	free(relay);
}

enum err outbox_relay_start(const struct outbox_relay_config *config, struct outbox_relay **out)
{
	struct outbox_relay *relay = mem_zero(sizeof(*relay));
	relay->config = *config;
	relay->teller =
		(struct outbox_teller){ .cache = config->cache, .lists = config->lists, .clock = config->clock };
	outbox_generation_init(&relay->generation, &relay->teller, config->redis, config->clock, config->log,
	                       config->metrics);
	outbox_pace_init(&relay->pace, config->patient_per_second, OUTBOX_PUBLISHER_ROWS_MAX, steady_us(relay));
	atomic_init(&relay->held_steady_us, INT64_MIN / 2);
	relay->background = background_new();
	enum err err = name_lock(relay);
	if (err == OK)
		err = outbox_publisher_new(config->kafka, config->log, config->metrics, &relay->publisher);
	if (err != OK) {
		free_relay(relay);
		return err;
	}
	register_metrics(relay, config->metrics);
	outbox_progress_init(&relay->progress, relay->publisher, config->metrics);
	background_start(relay->background, "outbox-relay", run, relay);
	*out = relay;
	return OK;
}

bool outbox_relay_is_active(const struct outbox_relay *relay)
{
	return atomic_load(&relay->active) && held_for_us(relay) < LOCK_MS * CLOCK_US_PER_MS;
}

void outbox_relay_stop(struct outbox_relay *relay)
{
	if (!relay)
		return;
	background_end(relay->background);
	free_relay(relay);
}
