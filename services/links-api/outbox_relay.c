#include "services/links-api/outbox_relay.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/entropy.h"
#include "lib/base/mem.h"
#include "lib/links/outbox.h"
#include "lib/net/cloud_event.h"
#include "lib/net/fenced_lock.h"
#include "lib/net/kafka_producer.h"
#include "lib/net/pg_conn.h"

#define LOCK_MS 5000
#define SEND_WITHIN_US CLOCK_US_PER_S
#define MESSAGE_TIMEOUT_MS 3000
#define FLUSH_MS 1000
#define BATCH_MAX 256
#define QUEUE_MAX ((size_t)2 * BATCH_MAX) /* a tombstone may follow each event */
#define POLL_MS 1000
#define RETRY_MS 250
#define PG_CONNECT_TIMEOUT_MS 2000
#define PG_STATEMENT_TIMEOUT_MS 3000
#define SOURCE "/waymark/links-api"

struct outbox_relay {
	struct outbox_relay_config config;
	struct kafka_config kafka;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t stopped;
	bool stopping; /* under mutex */
	atomic_bool active;
	_Atomic int64_t held_steady_us; /* when the lock was last known to be ours: before we asked */
	_Atomic int64_t oldest_us;
	_Atomic size_t failed; /* records of the present window that Kafka did not ack */

	/* The thread's own. */
	struct pg_conn *conn;
	struct fenced_lock lock;
	int64_t lag_read_steady_us;
	struct kafka_producer *producer;

	struct metric *published;
	struct metric *failures;
	struct metric *active_gauge;
	struct metric *waiting;
};

static int64_t steady_us(const struct outbox_relay *relay)
{
	return clock_steady_us(relay->config.clock);
}

/* --- stopping and waiting --- */

static bool is_stopping(struct outbox_relay *relay)
{
	pthread_mutex_lock(&relay->mutex);
	bool stopping = relay->stopping;
	pthread_mutex_unlock(&relay->mutex);
	return stopping;
}

static void rest(struct outbox_relay *relay, int64_t ms)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&relay->mutex);
	while (!relay->stopping && pthread_cond_timedwait(&relay->stopped, &relay->mutex, &until) != ETIMEDOUT)
		continue;
	pthread_mutex_unlock(&relay->mutex);
}

/* --- PostgreSQL and the lock --- */

static void set_active(struct outbox_relay *relay, bool active)
{
	if (atomic_exchange(&relay->active, active) != active)
		log_info(relay->config.log, active ? "outbox_relay_active" : "outbox_relay_standby");
	metrics_set(relay->active_gauge, active);
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

/* OK: we hold the lock and may send for SEND_WITHIN_US. ERR_CONFLICT: somebody else works. */
static enum err hold(struct outbox_relay *relay)
{
	int64_t asked_us = steady_us(relay);
	enum err err = ERR_CONFLICT;
	if (relay->lock.fence)
		err = fenced_lock_extend(&relay->lock, relay->conn, LOCK_MS);
	if (err == ERR_CONFLICT)
		err = fenced_lock_acquire(&relay->lock, relay->conn, LOCK_MS);
	if (err == OK)
		atomic_store(&relay->held_steady_us, asked_us);
	set_active(relay, err == OK);
	return err;
}

static int64_t held_for_us(const struct outbox_relay *relay)
{
	return steady_us(relay) - atomic_load(&relay->held_steady_us);
}

static bool may_send(const struct outbox_relay *relay)
{
	return held_for_us(relay) < SEND_WITHIN_US;
}

/* --- Kafka --- */

static void delivered(void *ctx, void *opaque, enum err result)
{
	(void)opaque;
	struct outbox_relay *relay = ctx;
	if (result != OK)
		atomic_fetch_add(&relay->failed, 1);
}

static enum err send_record(struct outbox_relay *relay, const struct outbox_row *row, const struct link_event *event,
                            bool is_tombstone)
{
	struct cloud_event headers;
	struct kafka_record record = {
		.topic = LINK_EVENT_TOPIC,
		.key = row->slug,
		.key_len = strlen(row->slug),
		.value = is_tombstone ? NULL : row->payload,
		.value_len = is_tombstone ? 0 : row->payload_len,
	};
	cloud_event_headers(&headers, event->event_id, event->occurred_at_us, LINK_EVENT_TYPE, SOURCE, row->slug,
	                    &record);
	return kafka_producer_send(relay->producer, &record);
}

static enum err send_row(struct outbox_relay *relay, const struct outbox_row *row)
{
	struct link_event event = { .occurred_at_us = row->created_at_us };
	if (link_event_decode(row->payload, row->payload_len, &event) != OK) {
		/* Subscribers may understand what we do not; nothing is kept back. */
		log_error(relay->config.log, "outbox_event_not_understood", LOG_INT("outbox_id", row->id));
		entropy_uuid7(row->created_at_us, event.event_id);
	}
	enum err err = send_record(relay, row, &event, false);
	if (err == OK && event.change == LINK_CHANGE_PURGED)
		err = send_record(relay, row, &event, true);
	return err;
}

/* Waits until Kafka has acked or given up everything. */
static enum err settle(struct outbox_relay *relay)
{
	enum err err = ERR_UNAVAILABLE;
	while (err != OK) {
		err = kafka_producer_flush(relay->producer, FLUSH_MS);
		if (err != OK && is_stopping(relay))
			return err;
	}
	return atomic_load(&relay->failed) == 0 ? OK : ERR_UNAVAILABLE;
}

/* --- batches and windows --- */

static bool holds_slug(const struct outbox_batch *batch, size_t begin, size_t end, const char *slug)
{
	for (size_t i = begin; i < end; i++)
		if (strcmp(batch->rows[i].slug, slug) == 0)
			return true;
	return false;
}

/* The rows from begin on, up to the second event of any slug: what may be under way to Kafka together. */
static struct outbox_batch window_of(const struct outbox_batch *batch, size_t begin)
{
	size_t end = begin + 1;
	while (end < batch->count && !holds_slug(batch, begin, end, batch->rows[end].slug))
		end++;
	return (struct outbox_batch){ batch->rows + begin, end - begin };
}

static enum err publish_window(struct outbox_relay *relay, const struct outbox_batch *window)
{
	enum err err = may_send(relay) ? OK : hold(relay);
	atomic_store(&relay->failed, 0);
	for (size_t i = 0; err == OK && i < window->count; i++)
		err = may_send(relay) ? send_row(relay, &window->rows[i]) : ERR_UNAVAILABLE;
	enum err settled = settle(relay);
	if (err == OK)
		err = settled;
	if (err != OK) {
		metrics_add(relay->failures, 1);
		return err;
	}
	metrics_add(relay->published, (int64_t)window->count);
	return outbox_remove(relay->conn, window);
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

/* Publishes until nothing waits. ERR_CONFLICT: somebody else works. */
static enum err publish_all(struct outbox_relay *relay)
{
	bool more = true;
	enum err err = OK;
	while (err == OK && more && !is_stopping(relay)) {
		struct outbox_batch batch = { 0 };
		err = hold(relay);
		if (err == OK)
			err = outbox_read(relay->conn, BATCH_MAX, &batch);
		if (err != OK)
			break;
		more = batch.count == BATCH_MAX;
		err = publish_batch(relay, &batch);
		outbox_batch_clear(&batch);
	}
	return err;
}

static void read_lag(struct outbox_relay *relay)
{
	int64_t now_us = steady_us(relay);
	int64_t rows;
	int64_t oldest_us;
	if (now_us - relay->lag_read_steady_us < POLL_MS * CLOCK_US_PER_MS)
		return;
	relay->lag_read_steady_us = now_us;
	if (outbox_lag(relay->conn, &rows, &oldest_us) != OK)
		return;
	metrics_set(relay->waiting, rows);
	atomic_store(&relay->oldest_us, oldest_us);
}

static void work_once(struct outbox_relay *relay)
{
	enum err err = connect(relay);
	if (err == OK)
		err = publish_all(relay);
	if (relay->conn && pg_conn_usable(relay->conn))
		read_lag(relay);
	if (err == OK) {
		err = pg_conn_wait_notification(relay->conn, POLL_MS);
	} else if (err == ERR_CONFLICT) {
		/* What is meant for the other one must not pile up here. */
		err = pg_conn_wait_notification(relay->conn, 0);
		rest(relay, POLL_MS);
	}
	if (err != OK && err != ERR_NOT_FOUND)
		rest(relay, RETRY_MS);
}

static void *run(void *arg)
{
	struct outbox_relay *relay = arg;
	pthread_setname_np(pthread_self(), "outbox-relay");
	while (!is_stopping(relay))
		work_once(relay);
	if (relay->conn && pg_conn_usable(relay->conn) && relay->lock.fence) {
		enum err err = fenced_lock_release(&relay->lock, relay->conn, 0);
		(void)err; /* it runs out by itself */
	}
	disconnect(relay);
	return NULL;
}

/* --- the handle --- */

static double oldest_seconds(void *ctx)
{
	struct outbox_relay *relay = ctx;
	return (double)atomic_load(&relay->oldest_us) / (double)CLOCK_US_PER_S;
}

static void register_metrics(struct outbox_relay *relay, struct metrics *metrics)
{
	relay->published =
		metrics_counter(metrics, "waymark_outbox_published_total", "Link events acked by Kafka", NULL);
	relay->failures =
		metrics_counter(metrics, "waymark_outbox_publish_failures_total",
	                        "Windows of link events that Kafka did not ack and that are sent again", NULL);
	relay->active_gauge =
		metrics_gauge(metrics, "waymark_outbox_relay_active", "1 in the one instance whose relay works", NULL);
	relay->waiting = metrics_gauge(metrics, "waymark_outbox_waiting_rows", "Link events not published yet", NULL);
	metrics_gauge_callback(metrics, "waymark_outbox_oldest_seconds",
	                       "Age of the oldest link event not published yet", NULL, oldest_seconds, relay);
}

static enum err make_producer(struct outbox_relay *relay)
{
	return kafka_producer_new(
		&(struct kafka_producer_config){
			.kafka = &relay->kafka,
			.queue_max = QUEUE_MAX,
			.queue_bytes_max = QUEUE_MAX * LINK_EVENT_BYTES_MAX,
			.linger_ms = 0,
			.message_timeout_ms = MESSAGE_TIMEOUT_MS,
			.delivered = delivered,
			.ctx = relay,
			.log = relay->config.log,
			.metrics = relay->config.metrics,
		},
		&relay->producer);
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

static void init_waiting(struct outbox_relay *relay)
{
	pthread_condattr_t attributes;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&relay->stopped, &attributes);
	pthread_condattr_destroy(&attributes);
	pthread_mutex_init(&relay->mutex, NULL);
}

static void free_relay(struct outbox_relay *relay)
{
	if (relay->producer)
		kafka_producer_free(relay->producer);
	pthread_cond_destroy(&relay->stopped);
	pthread_mutex_destroy(&relay->mutex);
	free(relay);
}

enum err outbox_relay_start(const struct outbox_relay_config *config, struct outbox_relay **out)
{
	struct outbox_relay *relay = mem_zero(sizeof(*relay));
	relay->config = *config;
	relay->kafka = *config->kafka;
	snprintf(relay->kafka.client_id, sizeof(relay->kafka.client_id), "waymark-links-api");
	atomic_init(&relay->held_steady_us, INT64_MIN / 2);
	init_waiting(relay);
	enum err err = name_lock(relay);
	if (err == OK)
		err = make_producer(relay);
	if (err != OK) {
		free_relay(relay);
		return err;
	}
	register_metrics(relay, config->metrics);
	if (pthread_create(&relay->thread, NULL, run, relay) != 0)
		abort();
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
	pthread_mutex_lock(&relay->mutex);
	relay->stopping = true;
	pthread_cond_signal(&relay->stopped);
	pthread_mutex_unlock(&relay->mutex);
	pthread_join(relay->thread, NULL);
	free_relay(relay);
}
