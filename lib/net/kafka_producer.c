/*
 * Every accepted record is an entry of ours until it is acked or given up; librdkafka only borrows it. That makes a new
 * producer simple: when librdkafka's instance has failed for good (or fails a record that may pass later), new entries
 * wait in the backlog, the instance is purged, which brings all its entries back, and a new instance gets everything in
 * the order of acceptance.
 */
#include "lib/net/kafka_producer.h"

#include <librdkafka/rdkafka.h>
#include <poll.h>
#include <pthread.h>

#include "lib/base/clock.h"
#include "lib/base/deadline.h"
#include "lib/base/mem.h"
#include "lib/net/kafka_client.h"
#include "lib/net/kafka_entry.h"

#define POLL_MS 100
#define RESEND_POLL_MS 1
#define RENEWAL_PAUSE_MS 500
#define REFUSED_PAUSE_US (5 * CLOCK_US_PER_S)
#define PURGE_WAIT_MS 1000
#define RESEND_BATCH 1000
#define COUNT_PARTITIONS_MS 5000
#define COUNT_PARTITIONS_RETRY_MS 250
#define METADATA_TIMEOUT_MS 250

struct kafka_producer {
	struct kafka_client client; /* first: librdkafka hands it back */
	struct kafka_producer_config config;
	struct kafka_config kafka;
	pthread_t thread;
	atomic_size_t queued; /* not under the mutex, so that reports do not wait for senders */
	atomic_size_t queued_bytes;
	pthread_mutex_t mutex;                               /* of everything below */
	pthread_cond_t idle;                                 /* nothing is queued any more */
	rd_kafka_t *rk;                                      /* changed by the thread only */
	rd_kafka_topic_t *topics[KAFKA_PRODUCER_TOPICS_MAX]; /* of rk; the thread's */
	bool broken;                                         /* rk has to be replaced */
	int64_t renew_after_us;                              /* steady; not before */
	bool diverting;                                      /* accepted entries go to the backlog */
	bool closing;
	uint64_t sequence;
	struct kafka_entry_list backlog; /* to be sent as soon as there is a good instance */
	struct kafka_entry_list back;    /* what rk failed, to be sent again */
	int64_t log_again_us;            /* the thread's; steady */
	const char *_Atomic counted;     /* the topic whose partitions are counted; NULL: none */
	_Atomic int32_t partitions;      /* of it; 0: not known yet */
	int64_t count_again_us;          /* the thread's; steady */
	struct metric *renewals;
	struct metric *given_up;
};

static struct kafka_producer *producer_of(struct kafka_client *client)
{
	return (struct kafka_producer *)client;
}

/* With the mutex held. */
static void give_instance_up(struct kafka_producer *p)
{
	p->broken = true;
	p->diverting = true;
}

/* With the mutex held. A right that is missing will not be there in a moment, and each new instance logs in anew. */
static void take_refusal(struct kafka_producer *p, rd_kafka_resp_err_t code, const char *topic)
{
	if (kafka_client_is_refused(&p->client, code, topic))
		p->renew_after_us = clock_steady_us(clock_system()) + REFUSED_PAUSE_US;
}

static void take_fatal(struct kafka_client *client)
{
	struct kafka_producer *p = producer_of(client);
	char why[256] = "";
	pthread_mutex_lock(&p->mutex);
	rd_kafka_fatal_error(p->rk, why, sizeof(why));
	give_instance_up(p);
	pthread_mutex_unlock(&p->mutex);
	log_warning(client->log, "kafka_producer_failed", LOG_TEXT("message", why));
}

static void enter_queue(struct kafka_producer *p, const struct kafka_entry *entry)
{
	atomic_fetch_add(&p->queued_bytes, entry->bytes);
	atomic_fetch_add(&p->queued, 1);
}

/* Under the mutex only where somebody may be waiting for the last one. */
static void leave_queue(struct kafka_producer *p, const struct kafka_entry *entry)
{
	atomic_fetch_sub(&p->queued_bytes, entry->bytes);
	if (atomic_fetch_sub(&p->queued, 1) != 1)
		return;
	pthread_mutex_lock(&p->mutex);
	pthread_cond_broadcast(&p->idle);
	pthread_mutex_unlock(&p->mutex);
}

/* The end of an entry. The report comes first, so that whoever waits for an empty queue has had it. */
static void finish(struct kafka_producer *p, struct kafka_entry *entry, enum err result)
{
	if (p->config.delivered)
		p->config.delivered(p->config.ctx, entry->record.opaque, result);
	leave_queue(p, entry);
	free(entry);
}

static bool is_expired(const struct kafka_producer *p, const struct kafka_entry *entry)
{
	int64_t age_us = clock_steady_us(clock_system()) - entry->accepted_us;
	return p->config.message_timeout_ms > 0 && age_us >= p->config.message_timeout_ms * CLOCK_US_PER_MS;
}

static bool is_refused_for_good(rd_kafka_resp_err_t code)
{
	return code == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE || code == RD_KAFKA_RESP_ERR_INVALID_RECORD ||
	       code == RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE || code == RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION;
}

/* By the thread; a full queue given up at once is one line. */
static void log_failed(struct kafka_producer *p, const char *what, const struct kafka_entry *entry,
                       rd_kafka_resp_err_t code)
{
	int64_t now_us = clock_steady_us(clock_system());
	if (now_us < p->log_again_us)
		return;
	p->log_again_us = now_us + CLOCK_US_PER_S;
	log_warning(p->client.log, what, LOG_TEXT("topic", entry->record.topic),
	            LOG_TEXT("message", rd_kafka_err2str(code)));
}

/* We took it back ourselves; why is said of the one that made us. */
static bool is_taken_back(rd_kafka_resp_err_t code)
{
	return code == RD_KAFKA_RESP_ERR__PURGE_QUEUE || code == RD_KAFKA_RESP_ERR__PURGE_INFLIGHT;
}

static void take_report(rd_kafka_t *rk, const rd_kafka_message_t *message, void *opaque)
{
	(void)rk;
	struct kafka_producer *p = producer_of(opaque);
	struct kafka_entry *entry = message->_private;
	if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
		kafka_client_answered(&p->client);
		finish(p, entry, OK);
		return;
	}
	pthread_mutex_lock(&p->mutex);
	take_refusal(p, message->err, entry->record.topic);
	bool over = p->closing || is_refused_for_good(message->err) || is_expired(p, entry) ||
	            (message->err == RD_KAFKA_RESP_ERR__MSG_TIMED_OUT && p->config.message_timeout_ms > 0);
	if (!over) {
		if (!is_taken_back(message->err))
			log_failed(p, "kafka_record_refused", entry, message->err);
		give_instance_up(p);
		kafka_entry_append(&p->back, entry);
	}
	pthread_mutex_unlock(&p->mutex);
	if (over) {
		metrics_add(p->given_up, 1);
		log_failed(p, "kafka_record_given_up", entry, message->err);
		finish(p, entry, is_refused_for_good(message->err) ? ERR_INVALID : ERR_UNAVAILABLE);
	}
}

static enum err new_instance(struct kafka_producer *p, rd_kafka_t **out)
{
	char linger[24];
	char timeout[24];
	char messages[24];
	char kbytes[24];
	/* The queue's bounds are ours, below; librdkafka's only have to be wider. */
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
		 * A partition that its broker does not lead yet refuses a producer's first batch and, a moment later,
		 * takes the second one, whatever its sequence. The first is then a duplicate to the broker, which
		 * librdkafka reports as delivered: it is lost. One request at a time keeps them in order, and costs
		 * nothing measurable.
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
	enum err err =
		kafka_client_configure(&p->client, &p->kafka, settings, sizeof(settings) / sizeof(settings[0]), &conf);
	if (err != OK)
		return err;
	rd_kafka_conf_set_dr_msg_cb(conf, take_report);
	char why[256];
	rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, why, sizeof(why));
	if (!rk) {
		log_error(p->client.log, "kafka_configuration_refused", LOG_TEXT("message", why));
		rd_kafka_conf_destroy(conf);
		return ERR_INVALID;
	}
	*out = rk;
	return OK;
}

/* With the mutex held. librdkafka borrows the payload until its report; everything else it copies. */
static rd_kafka_resp_err_t produce(struct kafka_producer *p, struct kafka_entry *entry)
{
	const struct kafka_record *r = &entry->record;
	rd_kafka_headers_t *headers = rd_kafka_headers_new(r->header_count);
	for (size_t i = 0; i < r->header_count; i++)
		rd_kafka_header_add(headers, r->headers[i].name, -1, r->headers[i].value, -1);
	int32_t partition = r->has_partition ? r->partition : RD_KAFKA_PARTITION_UA;
	rd_kafka_resp_err_t code = rd_kafka_producev(
		p->rk, RD_KAFKA_V_TOPIC(r->topic), RD_KAFKA_V_PARTITION(partition), RD_KAFKA_V_KEY(r->key, r->key_len),
		RD_KAFKA_V_VALUE((void *)(uintptr_t)r->value, r->value_len), RD_KAFKA_V_HEADERS(headers),
		RD_KAFKA_V_OPAQUE(entry), RD_KAFKA_V_END);
	if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
		rd_kafka_headers_destroy(headers);
		take_refusal(p, code, r->topic);
	}
	return code;
}

/* Brings every entry of the instance back by its report. */
static void purge(rd_kafka_t *rk)
{
	do {
		rd_kafka_purge(rk, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
		rd_kafka_flush(rk, PURGE_WAIT_MS);
	} while (rd_kafka_outq_len(rk) > 0);
}

/* Makes librdkafka ask where they are, and keep that up to date. */
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

static void renew(struct kafka_producer *p)
{
	rd_kafka_t *rk = NULL;
	purge(p->rk);
	/* A broker that refuses everything at once must not make this a busy loop. */
	poll(NULL, 0, RENEWAL_PAUSE_MS);
	if (new_instance(p, &rk) != OK)
		return;
	rd_kafka_t *old = p->rk;
	close_topics(p);
	pthread_mutex_lock(&p->mutex);
	p->rk = rk;
	p->broken = false;
	kafka_entry_merge(&p->backlog, &p->back);
	pthread_mutex_unlock(&p->mutex);
	open_topics(p);
	rd_kafka_destroy(old);
	metrics_add(p->renewals, 1);
	log_info(p->client.log, "kafka_producer_renewed");
}

/* With the mutex held: hands a part of the backlog to librdkafka. expired: what was too old. */
static void resend_some(struct kafka_producer *p, struct kafka_entry_list *expired)
{
	for (int i = 0; i < RESEND_BATCH && !p->broken; i++) {
		struct kafka_entry *entry = p->backlog.first;
		if (!entry) {
			p->diverting = false;
			return;
		}
		bool old = is_expired(p, entry);
		rd_kafka_resp_err_t code = old ? RD_KAFKA_RESP_ERR_NO_ERROR : produce(p, entry);
		if (code == RD_KAFKA_RESP_ERR__QUEUE_FULL)
			return;
		if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
			give_instance_up(p);
			return;
		}
		/* Its report is told by this thread, so that nobody has freed it yet. */
		kafka_entry_take_first(&p->backlog);
		if (old)
			kafka_entry_append(expired, entry);
	}
}

static void give_up_all(struct kafka_producer *p, struct kafka_entry_list *list)
{
	struct kafka_entry *entry;
	while ((entry = kafka_entry_take_first(list)))
		finish(p, entry, ERR_UNAVAILABLE);
}

/* By the thread, which alone may use rk without the mutex. */
static void count_partitions(struct kafka_producer *p)
{
	const char *name = atomic_load(&p->counted);
	int64_t now_us = clock_steady_us(clock_system());
	if (!name || now_us < p->count_again_us)
		return;
	rd_kafka_topic_t *topic = rd_kafka_topic_new(p->rk, name, NULL);
	int32_t count = 0;
	enum err err = topic ? kafka_client_count_partitions(&p->client, p->rk, topic, METADATA_TIMEOUT_MS, &count)
	                     : ERR_INVALID;
	if (err == OK)
		atomic_store(&p->partitions, count);
	if (topic)
		rd_kafka_topic_destroy(topic);
	p->count_again_us = now_us + (err == OK ? COUNT_PARTITIONS_MS : COUNT_PARTITIONS_RETRY_MS) * CLOCK_US_PER_MS;
}

static void *serve(void *arg)
{
	struct kafka_producer *p = arg;
	pthread_mutex_lock(&p->mutex);
	while (!p->closing) {
		bool is_due = p->broken && clock_steady_us(clock_system()) >= p->renew_after_us;
		struct kafka_entry_list expired = { 0 };
		if (p->diverting && !p->broken)
			resend_some(p, &expired);
		int wait_ms = p->diverting && p->broken == is_due ? RESEND_POLL_MS : POLL_MS;
		pthread_mutex_unlock(&p->mutex);
		give_up_all(p, &expired);
		if (is_due)
			renew(p);
		count_partitions(p);
		rd_kafka_poll(p->rk, wait_ms);
		pthread_mutex_lock(&p->mutex);
	}
	pthread_mutex_unlock(&p->mutex);
	purge(p->rk);
	give_up_all(p, &p->back);
	give_up_all(p, &p->backlog);
	return NULL;
}

static void start(struct kafka_producer *p)
{
	deadline_cond_init(&p->idle);
	pthread_mutex_init(&p->mutex, NULL);
	if (pthread_create(&p->thread, NULL, serve, p) != 0)
		abort();
	pthread_setname_np(p->thread, "kafka-producer");
}

static void register_metrics(struct kafka_producer *p, struct metrics *m)
{
	if (!m)
		return;
	p->renewals = metrics_counter(m, "waymark_kafka_producer_renewals_total",
	                              "Producers replaced after an error that librdkafka cannot recover from", NULL);
	p->given_up =
		metrics_counter(m, "waymark_kafka_records_given_up_total", "Records accepted and not delivered", NULL);
	p->client.shows_reachable = metrics_gauge(m, "waymark_kafka_reachable",
	                                          "1 while a broker is connected and answers what is sent", NULL);
}

enum err kafka_producer_new(const struct kafka_producer_config *config, struct kafka_producer **out)
{
	struct kafka_producer *p = mem_zero(sizeof(*p));
	p->config = *config;
	p->kafka = *config->kafka;
	p->client.log = config->log;
	p->client.fatal = take_fatal;
	register_metrics(p, config->metrics); /* before the library can tell of a broker */
	enum err err = new_instance(p, &p->rk);
	if (err != OK) {
		free(p);
		return err;
	}
	open_topics(p);
	start(p);
	*out = p;
	return OK;
}

/* With the mutex held. The entry is in the queue already, because its report may come before produce has returned. */
static enum err take_in(struct kafka_producer *p, struct kafka_entry *entry)
{
	if (p->queued > p->config.queue_max || p->queued_bytes > p->config.queue_bytes_max)
		return ERR_LIMIT;
	if (!p->diverting) {
		rd_kafka_resp_err_t code = produce(p, entry);
		if (code == RD_KAFKA_RESP_ERR__QUEUE_FULL)
			return ERR_LIMIT;
		if (is_refused_for_good(code))
			return ERR_INVALID;
		if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
			give_instance_up(p);
	}
	if (p->diverting)
		kafka_entry_append(&p->backlog, entry);
	return OK;
}

enum err kafka_producer_send(struct kafka_producer *p, const struct kafka_record *record)
{
	if (record->header_count > KAFKA_HEADERS_MAX)
		return ERR_INVALID;
	struct kafka_entry *entry = kafka_entry_new(record);
	if (p->config.message_timeout_ms > 0)
		entry->accepted_us = clock_steady_us(clock_system());
	enter_queue(p, entry);
	pthread_mutex_lock(&p->mutex);
	entry->sequence = ++p->sequence;
	enum err err = take_in(p, entry);
	pthread_mutex_unlock(&p->mutex);
	if (err != OK) {
		leave_queue(p, entry);
		free(entry);
	}
	return err;
}

int32_t kafka_producer_partitions(struct kafka_producer *p, const char *topic)
{
	atomic_store(&p->counted, topic);
	return atomic_load(&p->partitions);
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
		rc = pthread_cond_timedwait(&p->idle, &p->mutex, &until);
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
	pthread_cond_destroy(&p->idle);
	pthread_mutex_destroy(&p->mutex);
	free(p);
}

bool kafka_producer_is_reachable(void *ctx)
{
	const struct kafka_producer *p = ctx;
	return atomic_load(&p->client.reachable);
}
