/*
 * The producer owns an entry for each accepted record until the record is acked or dropped;
 * librdkafka only borrows it. That makes a restart simple. When librdkafka's instance fails
 * fatally, or fails a record that may pass later:
 *   1. new entries go to the backlog;
 *   2. purging the instance returns all its entries through delivery reports;
 *   3. a new instance gets everything in the order of acceptance.
 *
 * A broker rejects a whole batch, although only one record in it, or their sum, is too large. The
 * producer then restarts with smaller batches, in the end with one record in each. Only a record
 * that is rejected alone has failed for good.
 */
#include "lib/kafka/kafka_producer.h"

#include <poll.h>
#include <pthread.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/mem.h"
#include "lib/base/thread.h"
#include "lib/kafka/kafka_client.h"
#include "lib/kafka/kafka_instance.h"
#include "lib/kafka/kafka_queue.h"

#define POLL_MS 100
#define RESEND_POLL_MS 1
#define RESTART_PAUSE_MS 500
#define UNAUTHORIZED_PAUSE_US (5 * CLOCK_US_PER_S)
#define RESEND_BATCH 1000
/* How long batches stay small after the brokers have found one too large. */
#define LARGER_BATCH_US (60 * CLOCK_US_PER_S)
/* How often the number of partitions is queried: while it is not known, and later. */
#define UNKNOWN_PARTITIONS_US (1 * CLOCK_US_PER_S)
#define KNOWN_PARTITIONS_US (10 * CLOCK_US_PER_S)
/* No report runs meanwhile. */
#define PARTITIONS_TIMEOUT_MS 500

struct kafka_producer {
	/* First: it is librdkafka's opaque. */
	struct kafka_client client;
	struct kafka_producer_config config;
	struct kafka_config kafka;
	pthread_t thread;
	/* Outside the mutex, so that reports do not wait for senders. */
	_Atomic size_t queued;
	_Atomic size_t queued_bytes;
	/* Of topics[0]. 0: not known. */
	_Atomic int32_t partitions;
	/* The thread's; steady. */
	int64_t count_partitions_us;
	/* Protects everything below. */
	pthread_mutex_t mutex;
	pthread_cond_t queue_empty;
	/* Only the thread replaces it. */
	struct kafka_instance instance;
	size_t batch_bytes;
	/* Steady; when larger batches are tried again. */
	int64_t larger_batch_us;
	bool broken;
	/* Steady; the earliest time of a restart. */
	int64_t restart_after_us;
	bool uses_backlog;
	bool closing;
	uint64_t sequence;
	struct kafka_queue backlog;
	/* Entries that rk failed, to be sent again. */
	struct kafka_queue returned;
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
 * again: so waits longer. A topic that was created again may have fewer partitions.
 */
static void prepare_next_try(struct kafka_producer *p, struct kafka_queue_entry *entry,
                             rd_kafka_resp_err_t code)
{
	if (kafka_client_is_unauthorized(&p->client, code, entry->record.topic))
		p->restart_after_us = clock_steady_us(clock_system()) + UNAUTHORIZED_PAUSE_US;
	if (code == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION)
		entry->record.has_partition = false;
}

static void on_fatal(struct kafka_client *client)
{
	struct kafka_producer *p = producer_of(client);
	char why[256] = "";
	pthread_mutex_lock(&p->mutex);
	rd_kafka_fatal_error(p->instance.rk, why, sizeof(why));
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

/* Frees an entry after its report, so kafka_producer_flush returns after all reports. */
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

/* Reasons to reject a batch that may apply to one of its records only. */
static bool is_batch_rejected(rd_kafka_resp_err_t code)
{
	return code == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE ||
	       code == RD_KAFKA_RESP_ERR_INVALID_RECORD ||
	       code == RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE;
}

static bool is_rejected(rd_kafka_resp_err_t code)
{
	return is_batch_rejected(code) || code == RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION;
}

static void log_failed(struct kafka_producer *p, const char *what,
                       const struct kafka_queue_entry *entry, rd_kafka_resp_err_t code)
{
	log_limited_warning(p->client.log, what, LOG_TEXT("topic", entry->record.topic),
	                    LOG_TEXT("message", rd_kafka_err2str(code)));
}

/* We purged the entry ourselves; the record that caused the restart has been logged. */
static bool is_purged(rd_kafka_resp_err_t code)
{
	return code == RD_KAFKA_RESP_ERR__PURGE_QUEUE || code == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT;
}

/*
 * With the mutex held. True: the record was in a batch of its own, so the rejection is final. The
 * reports of a restart come from the instance that sent the records: its size of batches applies.
 */
static bool is_rejected_alone(struct kafka_producer *p, const struct kafka_queue_entry *entry)
{
	int64_t now_us = clock_steady_us(clock_system());
	bool is_alone = kafka_instance_sends_alone(&p->instance, entry);
	if (!is_alone) {
		p->batch_bytes = kafka_instance_smaller_batch(&p->instance);
		p->larger_batch_us = now_us + LARGER_BATCH_US;
	} else if (p->instance.batch_bytes == KAFKA_INSTANCE_ONE_RECORD) {
		p->larger_batch_us = now_us; /* one record was the cause, and it is gone */
	}
	return is_alone;
}

/* With the mutex held. */
static bool is_final(struct kafka_producer *p, const struct kafka_queue_entry *entry,
                     rd_kafka_resp_err_t code)
{
	if (p->closing || is_expired(p, entry))
		return true;
	if (is_batch_rejected(code))
		return is_rejected_alone(p, entry);
	return is_rejected(code) ||
	       (code == RD_KAFKA_RESP_ERR__MSG_TIMED_OUT && p->config.message_timeout_ms > 0);
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
	prepare_next_try(p, entry, message->err);
	bool has_failed = is_final(p, entry, message->err);
	if (!has_failed) {
		if (!is_purged(message->err))
			log_failed(p,
			           is_rejected(message->err) ? "kafka_record_rejected"
			                                     : "kafka_record_retried",
			           entry, message->err);
		mark_broken(p);
		kafka_queue_append(&p->returned, entry);
	}
	pthread_mutex_unlock(&p->mutex);
	if (has_failed) {
		metrics_add(p->undelivered, 1);
		log_failed(p, "kafka_record_undelivered", entry, message->err);
		finish(p, entry, is_rejected(message->err) ? ERR_INVALID : ERR_UNAVAILABLE);
	}
}

/* With the mutex held. */
static rd_kafka_resp_err_t produce(struct kafka_producer *p, struct kafka_queue_entry *entry)
{
	rd_kafka_resp_err_t code = kafka_instance_produce(&p->instance, entry);
	if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
		prepare_next_try(p, entry, code);
	return code;
}

static enum err open_instance(struct kafka_producer *p, struct kafka_instance *out)
{
	return kafka_instance_open(&p->client, &p->kafka, &p->config, p->batch_bytes,
	                           on_delivery_report, out);
}

static void restart_instance(struct kafka_producer *p)
{
	struct kafka_instance fresh;
	kafka_instance_purge(&p->instance);
	/* Keeps a broker that rejects everything from causing a busy loop. Batches end at one. */
	if (p->batch_bytes >= p->instance.batch_bytes)
		poll(NULL, 0, RESTART_PAUSE_MS);
	if (open_instance(p, &fresh) != OK)
		return;
	struct kafka_instance old = p->instance;
	pthread_mutex_lock(&p->mutex);
	p->instance = fresh;
	p->broken = false;
	kafka_queue_merge(&p->backlog, &p->returned);
	pthread_mutex_unlock(&p->mutex);
	kafka_instance_close(&old);
	metrics_add(p->restarts, 1);
	log_info(p->client.log, "kafka_producer_restarted",
	         LOG_INT("batch_bytes", fresh.batch_bytes));
}

/* With the mutex held. Batches became small for a reason that may have passed. */
static void try_larger_batches(struct kafka_producer *p)
{
	int64_t now_us = clock_steady_us(clock_system());
	if (p->broken || p->instance.batch_bytes == KAFKA_PRODUCER_BATCH_BYTES_MAX ||
	    now_us < p->larger_batch_us)
		return;
	p->batch_bytes = kafka_instance_larger_batch(&p->instance);
	p->larger_batch_us = now_us + LARGER_BATCH_US;
	mark_broken(p);
}

/* With the mutex held. Sends a part of the backlog; entries that fail for good go to failed. */
static void resend_some(struct kafka_producer *p, struct kafka_queue *failed)
{
	for (int i = 0; i < RESEND_BATCH && !p->broken; i++) {
		struct kafka_queue_entry *entry = p->backlog.first;
		if (!entry) {
			p->uses_backlog = false;
			return;
		}
		rd_kafka_resp_err_t code =
			is_expired(p, entry) ? RD_KAFKA_RESP_ERR__MSG_TIMED_OUT : produce(p, entry);
		if (code == RD_KAFKA_RESP_ERR__QUEUE_FULL)
			return;
		bool has_failed = code == RD_KAFKA_RESP_ERR__MSG_TIMED_OUT || is_rejected(code);
		if (code != RD_KAFKA_RESP_ERR_NO_ERROR && !has_failed) {
			mark_broken(p);
			return;
		}
		/* Only this thread runs reports, so the entry is still valid. */
		kafka_queue_pop(&p->backlog);
		if (has_failed) {
			entry->result = is_rejected(code) ? ERR_INVALID : ERR_UNAVAILABLE;
			kafka_queue_append(failed, entry);
		}
	}
}

static void drop_all(struct kafka_producer *p, struct kafka_queue *list)
{
	struct kafka_queue_entry *entry;
	while ((entry = kafka_queue_pop(list)))
		finish(p, entry, entry->result);
}

/*
 * jemalloc gives no cache to a thread that has never allocated. The producer's thread only frees
 * what others have allocated, and would lock and search for each block: 12 per record.
 */
static void give_thread_a_cache(void)
{
	void *volatile block = mem_zero(1);
	free(block);
}

/* Without the mutex, because only this thread replaces the instance. */
static void count_partitions(struct kafka_producer *p)
{
	int32_t count = atomic_load(&p->partitions);
	if (!p->config.counts_partitions ||
	    clock_steady_us(clock_system()) < p->count_partitions_us)
		return;
	rd_kafka_resp_err_t code = kafka_client_count_partitions(
		&p->client, p->instance.rk, p->instance.topics[0], PARTITIONS_TIMEOUT_MS, &count);
	if (count == 0)
		log_limited_warning(p->client.log, "kafka_partitions_unknown",
		                    LOG_TEXT("topic", p->config.topics[0]),
		                    LOG_TEXT("message", rd_kafka_err2str(code)));
	atomic_store(&p->partitions, count);
	p->count_partitions_us = clock_steady_us(clock_system()) +
	                         (count > 0 ? KNOWN_PARTITIONS_US : UNKNOWN_PARTITIONS_US);
}

static void *run_producer(void *arg)
{
	struct kafka_producer *p = arg;
	give_thread_a_cache();
	pthread_mutex_lock(&p->mutex);
	while (!p->closing) {
		try_larger_batches(p);
		bool is_due = p->broken && clock_steady_us(clock_system()) >= p->restart_after_us;
		struct kafka_queue failed = { 0 };
		if (p->uses_backlog && !p->broken)
			resend_some(p, &failed);
		int wait_ms = p->uses_backlog && p->broken == is_due ? RESEND_POLL_MS : POLL_MS;
		pthread_mutex_unlock(&p->mutex);
		drop_all(p, &failed);
		if (is_due)
			restart_instance(p);
		count_partitions(p);
		rd_kafka_poll(p->instance.rk, wait_ms);
		pthread_mutex_lock(&p->mutex);
	}
	pthread_mutex_unlock(&p->mutex);
	kafka_instance_purge(&p->instance);
	drop_all(p, &p->returned);
	drop_all(p, &p->backlog);
	return NULL;
}

static void start_thread(struct kafka_producer *p)
{
	thread_cond_init(&p->queue_empty);
	pthread_mutex_init(&p->mutex, NULL);
	thread_spawn(&p->thread, "kafka-producer", run_producer, p);
}

static void register_metrics(struct kafka_producer *p, struct metrics *m)
{
	if (!m)
		return;
	p->restarts = metrics_counter(
		m, "waymark_kafka_producer_restarts_total",
		"Producer restarts, after an unrecoverable error or to change the size of batches",
		NULL);
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
	p->batch_bytes = KAFKA_PRODUCER_BATCH_BYTES_MAX;
	enum err err = open_instance(p, &p->instance);
	if (err != OK) {
		free(p);
		return err;
	}
	start_thread(p);
	*out = p;
	return OK;
}

/* With the mutex held. The entry is counted already: its report may run before produce returns. */
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
	pthread_mutex_lock(&p->mutex); /* the instance must not be replaced meanwhile */
	enum err err = kafka_instance_query_ends(&p->instance, &p->client, topic, timeout_ms, ends,
	                                         max, partitions);
	pthread_mutex_unlock(&p->mutex);
	return err;
}

int32_t kafka_producer_partitions(const struct kafka_producer *p)
{
	return atomic_load(&p->partitions);
}

size_t kafka_producer_queued(const struct kafka_producer *p)
{
	return atomic_load(&p->queued);
}

enum err kafka_producer_flush(struct kafka_producer *p, int64_t timeout_ms)
{
	struct timespec until = thread_deadline_in_ms(timeout_ms);
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
	kafka_instance_close(&p->instance);
	pthread_cond_destroy(&p->queue_empty);
	pthread_mutex_destroy(&p->mutex);
	free(p);
}

bool kafka_producer_is_reachable(void *ctx)
{
	const struct kafka_producer *p = ctx;
	return atomic_load(&p->client.reachable);
}
