/*
 * The producer owns an entry for each accepted record until the record is acked or dropped;
 * librdkafka only borrows it. That makes a restart simple. When librdkafka's instance fails
 * fatally, or fails a record that may pass later:
 *   1. new entries go to the backlog;
 *   2. purging the instance returns all its entries through delivery reports;
 *   3. a new instance gets everything in the order of acceptance.
 */
#include "lib/kafka/kafka_producer.h"

#include <librdkafka/rdkafka.h>
#include <poll.h>
#include <pthread.h>

#include "lib/base/clock.h"
#include "lib/base/deadline.h"
#include "lib/base/mem.h"
#include "lib/kafka/kafka_client.h"
#include "lib/kafka/kafka_queue.h"

#define POLL_MS 100
#define RESEND_POLL_MS 1
#define RESTART_PAUSE_MS 500
#define UNAUTHORIZED_PAUSE_US (5 * CLOCK_US_PER_S)
#define PURGE_WAIT_MS 1000
#define RESEND_BATCH 1000

struct kafka_producer {
	struct kafka_client client; /* first: it is librdkafka's opaque */
	struct kafka_producer_config config;
	struct kafka_config kafka;
	pthread_t thread;
	_Atomic size_t queued; /* outside the mutex, so that reports do not wait for senders */
	_Atomic size_t queued_bytes;
	pthread_mutex_t mutex;                               /* protects everything below */
	pthread_cond_t queue_empty;                          /* queued has become 0 */
	rd_kafka_t *rk;                                      /* only the thread replaces it */
	rd_kafka_topic_t *topics[KAFKA_PRODUCER_TOPICS_MAX]; /* of rk; for the thread only */
	bool broken;                                         /* rk must be replaced */
	int64_t restart_after_us; /* steady; the earliest time of a restart */
	bool uses_backlog;        /* new entries go to the backlog */
	bool closing;
	uint64_t sequence;
	struct kafka_queue backlog;  /* to be sent when an instance works */
	struct kafka_queue returned; /* entries that rk failed, to be sent again */
	int64_t log_again_us;        /* steady; for the thread only */
	struct metric *restarts;
	struct metric *undelivered;
};

static struct kafka_producer *producer_of(struct kafka_client *client)
{
	return (struct kafka_producer *)client;
}

/* With the mutex held. */
static void mark_broken(struct kafka_producer *p)
{
	p->broken = true;
	p->uses_backlog = true;
}

/*
 * With the mutex held. A missing right does not return at once, and each new instance logs in
 * again: so waits longer.
 */
static void delay_if_unauthorized(struct kafka_producer *p, rd_kafka_resp_err_t code,
                                  const char *topic)
{
	if (kafka_client_is_unauthorized(&p->client, code, topic))
		p->restart_after_us = clock_steady_us(clock_system()) + UNAUTHORIZED_PAUSE_US;
}

static void on_fatal(struct kafka_client *client)
{
	struct kafka_producer *p = producer_of(client);
	char why[256] = "";
	pthread_mutex_lock(&p->mutex);
	rd_kafka_fatal_error(p->rk, why, sizeof(why));
	mark_broken(p);
	pthread_mutex_unlock(&p->mutex);
	log_warning(client->log, "kafka_producer_failed", LOG_TEXT("message", why));
}

static void count_entry(struct kafka_producer *p, const struct kafka_queue_entry *entry)
{
	atomic_fetch_add(&p->queued_bytes, entry->bytes);
	atomic_fetch_add(&p->queued, 1);
}

/* Takes the mutex only for the last entry, for which a flush may be waiting. */
static void uncount_entry(struct kafka_producer *p, const struct kafka_queue_entry *entry)
{
	atomic_fetch_sub(&p->queued_bytes, entry->bytes);
	if (atomic_fetch_sub(&p->queued, 1) != 1)
		return;
	pthread_mutex_lock(&p->mutex);
	pthread_cond_broadcast(&p->queue_empty);
	pthread_mutex_unlock(&p->mutex);
}

/*
 * Reports and frees an entry. The report comes first, so kafka_producer_flush returns after all
 * reports.
 */
static void finish(struct kafka_producer *p, struct kafka_queue_entry *entry, enum err result)
{
	if (p->config.delivered)
		p->config.delivered(p->config.ctx, entry->record.opaque, result);
	uncount_entry(p, entry);
	free(entry);
}

static bool is_expired(const struct kafka_producer *p, const struct kafka_queue_entry *entry)
{
	int64_t age_us = clock_steady_us(clock_system()) - entry->accepted_us;
	return p->config.message_timeout_ms > 0 &&
	       age_us >= p->config.message_timeout_ms * CLOCK_US_PER_MS;
}

static bool is_rejected(rd_kafka_resp_err_t code)
{
	return code == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE ||
	       code == RD_KAFKA_RESP_ERR_INVALID_RECORD ||
	       code == RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE ||
	       code == RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION;
}

/* For the thread only. Logs once a second at most, so dropping a full queue is one line. */
static void log_failed(struct kafka_producer *p, const char *what,
                       const struct kafka_queue_entry *entry, rd_kafka_resp_err_t code)
{
	int64_t now_us = clock_steady_us(clock_system());
	if (now_us < p->log_again_us)
		return;
	p->log_again_us = now_us + CLOCK_US_PER_S;
	log_warning(p->client.log, what, LOG_TEXT("topic", entry->record.topic),
	            LOG_TEXT("message", rd_kafka_err2str(code)));
}

/* We purged the entry ourselves; the record that caused the restart has been logged. */
static bool is_purged(rd_kafka_resp_err_t code)
{
	return code == RD_KAFKA_RESP_ERR__PURGE_QUEUE || code == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT;
}

static void on_delivery_report(rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque)
{
	(void)rk;
	struct kafka_producer *p = producer_of(opaque);
	struct kafka_queue_entry *entry = message->_private;
	if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
		kafka_client_set_reachable(&p->client);
		if (p->config.acked)
			p->config.acked(p->config.ctx, &entry->record, message->partition,
			                message->offset);
		finish(p, entry, OK);
		return;
	}
	pthread_mutex_lock(&p->mutex);
	delay_if_unauthorized(p, message->err, entry->record.topic);
	bool is_final = p->closing || is_rejected(message->err) || is_expired(p, entry) ||
	                (message->err == RD_KAFKA_RESP_ERR__MSG_TIMED_OUT &&
	                 p->config.message_timeout_ms > 0);
	if (!is_final) {
		if (!is_purged(message->err))
			log_failed(p, "kafka_record_rejected", entry, message->err);
		mark_broken(p);
		kafka_queue_append(&p->returned, entry);
	}
	pthread_mutex_unlock(&p->mutex);
	if (is_final) {
		metrics_add(p->undelivered, 1);
		log_failed(p, "kafka_record_undelivered", entry, message->err);
		finish(p, entry, is_rejected(message->err) ? ERR_INVALID : ERR_UNAVAILABLE);
	}
}

static enum err new_instance(struct kafka_producer *p, rd_kafka_t **out)
{
	char linger[24];
	char timeout[24];
	char messages[24];
	char kbytes[24];
	/* accept_entry enforces our ceilings; librdkafka's only have to be wider. */
	size_t most = p->config.queue_max + RESEND_BATCH;
	size_t most_kbytes = p->config.queue_bytes_max / 1024 * 2 + 1024;
	snprintf(linger, sizeof(linger), "%lld", (long long)p->config.linger_ms);
	snprintf(timeout, sizeof(timeout), "%lld", (long long)p->config.message_timeout_ms);
	snprintf(messages, sizeof(messages), "%zu", most);
	snprintf(kbytes, sizeof(kbytes), "%zu", most_kbytes);
	const struct kafka_setting settings[] = {
		{ "enable.idempotence", "true" },
		{ "acks", "all" },
		/*
		 * Prevents a loss. A broker that does not lead a partition yet rejects a producer's
		 * first batch and may accept the second a moment later, whatever its sequence. The
		 * first then counts as a duplicate, and librdkafka reports it as delivered. One
		 * request at a time keeps the order and has no measurable cost.
		 */
		{ "max.in.flight.requests.per.connection", "1" },
		{ "compression.codec", "lz4" },
		{ "partitioner", "murmur2_random" },
		{ "linger.ms", linger },
		{ "message.timeout.ms", timeout },
		{ "queue.buffering.max.messages", messages },
		{ "queue.buffering.max.kbytes", kbytes },
	};
	rd_kafka_conf_t *conf = NULL;
	enum err err = kafka_client_configure(&p->client, &p->kafka, settings,
	                                      sizeof(settings) / sizeof(settings[0]), &conf);
	if (err != OK)
		return err;
	rd_kafka_conf_set_dr_msg_cb(conf, on_delivery_report);
	char why[256];
	rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, why, sizeof(why));
	if (!rk) {
		log_error(p->client.log, "kafka_configuration_rejected", LOG_TEXT("message", why));
		rd_kafka_conf_destroy(conf);
		return ERR_INVALID;
	}
	*out = rk;
	return OK;
}

/*
 * With the mutex held. librdkafka borrows the payload until its report and copies everything else.
 */
static rd_kafka_resp_err_t produce(struct kafka_producer *p, struct kafka_queue_entry *entry)
{
	const struct kafka_record *r = &entry->record;
	rd_kafka_headers_t *headers = rd_kafka_headers_new(r->header_count);
	for (size_t i = 0; i < r->header_count; i++)
		rd_kafka_header_add(headers, r->headers[i].name, -1, r->headers[i].value, -1);
	int32_t partition = r->has_partition ? r->partition : RD_KAFKA_PARTITION_UA;
	rd_kafka_resp_err_t code = rd_kafka_producev(
		p->rk, RD_KAFKA_V_TOPIC(r->topic), RD_KAFKA_V_PARTITION(partition),
		RD_KAFKA_V_KEY(r->key, r->key_len),
		RD_KAFKA_V_VALUE((void *)(uintptr_t)r->value, r->value_len),
		RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_OPAQUE(entry), RD_KAFKA_V_END);
	if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
		rd_kafka_headers_destroy(headers);
		delay_if_unauthorized(p, code, r->topic);
	}
	return code;
}

/* Makes the instance report every entry, so that all of them return to us. */
static void purge(rd_kafka_t *rk)
{
	do {
		rd_kafka_purge(rk, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
		rd_kafka_flush(rk, PURGE_WAIT_MS);
	} while (rd_kafka_outq_len(rk) > 0);
}

/* Makes librdkafka query the partitions and leaders of the topics, and keep them up to date. */
static void open_topics(struct kafka_producer *p)
{
	for (size_t i = 0; i < KAFKA_PRODUCER_TOPICS_MAX && p->config.topics[i]; i++)
		p->topics[i] = rd_kafka_topic_new(p->rk, p->config.topics[i], NULL);
}

static void close_topics(struct kafka_producer *p)
{
	for (size_t i = 0; i < KAFKA_PRODUCER_TOPICS_MAX; i++) {
		if (p->topics[i])
			rd_kafka_topic_destroy(p->topics[i]);
		p->topics[i] = NULL;
	}
}

static void restart_instance(struct kafka_producer *p)
{
	rd_kafka_t *rk = NULL;
	purge(p->rk);
	/* Keeps a broker that rejects everything from causing a busy loop. */
	poll(NULL, 0, RESTART_PAUSE_MS);
	if (new_instance(p, &rk) != OK)
		return;
	rd_kafka_t *old = p->rk;
	close_topics(p);
	pthread_mutex_lock(&p->mutex);
	p->rk = rk;
	p->broken = false;
	kafka_queue_merge(&p->backlog, &p->returned);
	pthread_mutex_unlock(&p->mutex);
	open_topics(p);
	rd_kafka_destroy(old);
	metrics_add(p->restarts, 1);
	log_info(p->client.log, "kafka_producer_restarted");
}

/* With the mutex held. Sends a part of the backlog; entries past their timeout go to expired. */
static void resend_some(struct kafka_producer *p, struct kafka_queue *expired)
{
	for (int i = 0; i < RESEND_BATCH && !p->broken; i++) {
		struct kafka_queue_entry *entry = p->backlog.first;
		if (!entry) {
			p->uses_backlog = false;
			return;
		}
		bool old = is_expired(p, entry);
		rd_kafka_resp_err_t code = old ? RD_KAFKA_RESP_ERR_NO_ERROR : produce(p, entry);
		if (code == RD_KAFKA_RESP_ERR__QUEUE_FULL)
			return;
		if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
			mark_broken(p);
			return;
		}
		/* Only this thread runs reports, so the entry is still valid. */
		kafka_queue_pop(&p->backlog);
		if (old)
			kafka_queue_append(expired, entry);
	}
}

static void drop_all(struct kafka_producer *p, struct kafka_queue *list)
{
	struct kafka_queue_entry *entry;
	while ((entry = kafka_queue_pop(list)))
		finish(p, entry, ERR_UNAVAILABLE);
}

static void *run_producer(void *arg)
{
	struct kafka_producer *p = arg;
	pthread_mutex_lock(&p->mutex);
	while (!p->closing) {
		bool is_due = p->broken && clock_steady_us(clock_system()) >= p->restart_after_us;
		struct kafka_queue expired = { 0 };
		if (p->uses_backlog && !p->broken)
			resend_some(p, &expired);
		int wait_ms = p->uses_backlog && p->broken == is_due ? RESEND_POLL_MS : POLL_MS;
		pthread_mutex_unlock(&p->mutex);
		drop_all(p, &expired);
		if (is_due)
			restart_instance(p);
		rd_kafka_poll(p->rk, wait_ms);
		pthread_mutex_lock(&p->mutex);
	}
	pthread_mutex_unlock(&p->mutex);
	purge(p->rk);
	drop_all(p, &p->returned);
	drop_all(p, &p->backlog);
	return NULL;
}

static void start_thread(struct kafka_producer *p)
{
	deadline_cond_init(&p->queue_empty);
	pthread_mutex_init(&p->mutex, NULL);
	if (pthread_create(&p->thread, NULL, run_producer, p) != 0)
		abort();
	pthread_setname_np(p->thread, "kafka-producer");
}

static void register_metrics(struct kafka_producer *p, struct metrics *m)
{
	if (!m)
		return;
	p->restarts = metrics_counter(
		m, "waymark_kafka_producer_restarts_total",
		"Producer restarts after an error that librdkafka cannot recover from", NULL);
	p->undelivered = metrics_counter(m, "waymark_kafka_records_undelivered_total",
	                                 "Records accepted but not delivered", NULL);
	p->client.reachable_gauge = metrics_gauge(
		m, "waymark_kafka_reachable", "1 while a broker is connected and responds", NULL);
}

enum err kafka_producer_new(const struct kafka_producer_config *config, struct kafka_producer **out)
{
	struct kafka_producer *p = mem_zero(sizeof(*p));
	p->config = *config;
	p->kafka = *config->kafka;
	p->client.log = config->log;
	p->client.on_fatal = on_fatal;
	register_metrics(p, config->metrics); /* before librdkafka can report a broker */
	enum err err = new_instance(p, &p->rk);
	if (err != OK) {
		free(p);
		return err;
	}
	open_topics(p);
	start_thread(p);
	*out = p;
	return OK;
}

/*
 * With the mutex held. The entry is counted already, because its report may run before produce
 * returns.
 */
static enum err accept_entry(struct kafka_producer *p, struct kafka_queue_entry *entry)
{
	if (p->queued > p->config.queue_max || p->queued_bytes > p->config.queue_bytes_max)
		return ERR_LIMIT;
	if (!p->uses_backlog) {
		rd_kafka_resp_err_t code = produce(p, entry);
		if (code == RD_KAFKA_RESP_ERR__QUEUE_FULL)
			return ERR_LIMIT;
		if (is_rejected(code))
			return ERR_INVALID;
		if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
			mark_broken(p);
	}
	if (p->uses_backlog)
		kafka_queue_append(&p->backlog, entry);
	return OK;
}

enum err kafka_producer_send(struct kafka_producer *p, const struct kafka_record *record)
{
	if (record->header_count > KAFKA_HEADERS_MAX)
		return ERR_INVALID;
	struct kafka_queue_entry *entry = kafka_queue_entry_new(record);
	if (p->config.message_timeout_ms > 0)
		entry->accepted_us = clock_steady_us(clock_system());
	count_entry(p, entry);
	pthread_mutex_lock(&p->mutex);
	entry->sequence = ++p->sequence;
	enum err err = accept_entry(p, entry);
	pthread_mutex_unlock(&p->mutex);
	if (err != OK) {
		uncount_entry(p, entry);
		free(entry);
	}
	return err;
}

enum err kafka_producer_query_ends(struct kafka_producer *p, const char *topic, int64_t timeout_ms,
                                   int64_t *ends, int32_t max, int32_t *partitions)
{
	int64_t until_us = clock_steady_us(clock_system()) + timeout_ms * CLOCK_US_PER_MS;
	int32_t count = 0;
	pthread_mutex_lock(&p->mutex); /* rk must not be replaced meanwhile */
	rd_kafka_topic_t *handle = rd_kafka_topic_new(p->rk, topic, NULL);
	enum err err = handle ? kafka_client_count_partitions(&p->client, p->rk, handle, timeout_ms,
	                                                      &count)
	                      : ERR_INVALID;
	if (err == OK && count > max)
		err = ERR_LIMIT;
	int64_t left_ms = (until_us - clock_steady_us(clock_system())) / CLOCK_US_PER_MS;
	if (err == OK)
		err = kafka_client_query_ends(p->rk, topic, count, left_ms > 1 ? left_ms : 1, ends);
	if (handle)
		rd_kafka_topic_destroy(handle);
	pthread_mutex_unlock(&p->mutex);
	if (err == OK)
		*partitions = count;
	return err;
}

size_t kafka_producer_queued(const struct kafka_producer *p)
{
	return atomic_load(&p->queued);
}

enum err kafka_producer_flush(struct kafka_producer *p, int64_t timeout_ms)
{
	struct timespec until = deadline_in_ms(timeout_ms);
	int rc = 0;
	pthread_mutex_lock(&p->mutex);
	while (p->queued > 0 && rc == 0)
		rc = pthread_cond_timedwait(&p->queue_empty, &p->mutex, &until);
	enum err err = p->queued == 0 ? OK : ERR_UNAVAILABLE;
	pthread_mutex_unlock(&p->mutex);
	return err;
}

void kafka_producer_free(struct kafka_producer *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->mutex);
	p->closing = true;
	pthread_mutex_unlock(&p->mutex);
	pthread_join(p->thread, NULL);
	close_topics(p);
	rd_kafka_destroy(p->rk);
	pthread_cond_destroy(&p->queue_empty);
	pthread_mutex_destroy(&p->mutex);
	free(p);
}

bool kafka_producer_is_reachable(void *ctx)
{
	const struct kafka_producer *p = ctx;
	return atomic_load(&p->client.reachable);
}
