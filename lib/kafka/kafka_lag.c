#include "lib/kafka/kafka_lag.h"

#include <stdlib.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/base/thread.h"
#include "lib/kafka/kafka_backlog.h"
#include "lib/kafka/kafka_client.h"

#define INTERVAL_MS 1000
#define REQUEST_TIMEOUT_MS 1000
/* Of all partitions: how often and how long a turn reads, and how much of each at once. */
#define READS_MAX 8
#define READS_TIMEOUT_MS 500
#define READ_BYTES "65536"

struct partition {
	struct kafka_backlog backlog;
	/* What is read of a gap that ends at gap_end. */
	struct kafka_backlog_run run;
	int64_t gap_end;
	bool is_read;
};

struct kafka_lag {
	/* First: it is librdkafka's opaque. */
	struct kafka_client client;
	struct kafka_lag_config config;
	rd_kafka_t *rk;
	rd_kafka_topic_t *topic;
	struct thread *thread;
	struct partition *partitions;
	int32_t count;
};

/* offsets[i]: what the group has committed in partition i; negative: nothing. */
static enum err query_committed(struct kafka_lag *lag, int32_t count, int64_t *offsets)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(count);
	for (int32_t p = 0; p < count; p++)
		rd_kafka_topic_partition_list_add(list, lag->config.topic, p);
	rd_kafka_resp_err_t code = rd_kafka_committed(lag->rk, list, REQUEST_TIMEOUT_MS);
	(void)kafka_client_is_unauthorized(&lag->client, code, lag->config.group);
	enum err err = code == RD_KAFKA_RESP_ERR_NO_ERROR ? OK : ERR_UNAVAILABLE;
	for (int i = 0; i < list->cnt && err == OK; i++) {
		if (list->elems[i].err != RD_KAFKA_RESP_ERR_NO_ERROR)
			err = ERR_UNAVAILABLE;
		offsets[list->elems[i].partition] = list->elems[i].offset;
	}
	rd_kafka_topic_partition_list_destroy(list);
	return err;
}

/* Sets the backlog of each partition. from and ends have a place for each of count partitions. */
static enum err query_backlogs(struct kafka_lag *lag, int32_t count, int64_t *from, int64_t *ends)
{
	/* ends is free until the ends are queried. */
	enum err err =
		kafka_client_query_offsets(lag->rk, lag->config.topic, count,
	                                   RD_KAFKA_OFFSET_BEGINNING, REQUEST_TIMEOUT_MS, ends);
	if (err == OK)
		err = query_committed(lag, count, from);
	for (int32_t p = 0; p < count && err == OK; p++)
		from[p] = from[p] < ends[p] ? ends[p] : from[p];
	if (err == OK)
		err = kafka_client_query_offsets(lag->rk, lag->config.topic, count,
		                                 RD_KAFKA_OFFSET_END, REQUEST_TIMEOUT_MS, ends);
	/* A recreated topic may end before what was committed. */
	for (int32_t p = 0; p < count && err == OK; p++)
		kafka_backlog_set(&lag->partitions[p].backlog,
		                  from[p] < ends[p] ? from[p] : ends[p], ends[p]);
	return err;
}

/* True: it is the first answer of its partition. */
static bool add_to_run(const struct kafka_lag *lag, const rd_kafka_message_t *m)
{
	if (m->partition < 0 || m->partition >= lag->count)
		return false;
	struct partition *p = &lag->partitions[m->partition];
	bool is_first = p->run.end == p->run.first;
	if (m->err == RD_KAFKA_RESP_ERR_NO_ERROR && m->offset < p->gap_end) {
		p->run.events += (double)lag->config.count(m->payload, m->len);
		p->run.end = m->offset + 1;
	}
	return is_first;
}

static int left_ms(int64_t until_us)
{
	return (int)((until_us - clock_steady_us(clock_system())) / CLOCK_US_PER_MS);
}

static void take_runs(struct kafka_lag *lag, rd_kafka_queue_t *queue, int missing, int64_t until_us)
{
	for (int wait_ms; (wait_ms = left_ms(until_us)) > 0;) {
		rd_kafka_message_t *m = rd_kafka_consume_queue(queue, missing > 0 ? wait_ms : 0);
		if (!m)
			return;
		missing -= add_to_run(lag, m);
		rd_kafka_message_destroy(m);
	}
}

/*
 * Reads where the estimate of each partition is worst: what one response has, or nothing if there is
 * none in time. False: no partition needs it.
 */
static bool improve(struct kafka_lag *lag, int64_t until_us)
{
	/* A new one holds nothing of an earlier read. */
	rd_kafka_queue_t *queue = rd_kafka_queue_new(lag->rk);
	int started = 0;
	for (int32_t i = 0; i < lag->count; i++) {
		struct partition *p = &lag->partitions[i];
		p->run = (struct kafka_backlog_run){ 0 };
		p->is_read = kafka_backlog_next(&p->backlog, &p->run) &&
		             rd_kafka_consume_start_queue(lag->topic, i, p->run.first, queue) == 0;
		p->gap_end = p->run.end;
		p->run.end = p->run.first;
		started += p->is_read;
	}
	take_runs(lag, queue, started, until_us);
	for (int32_t i = 0; i < lag->count; i++) {
		struct partition *p = &lag->partitions[i];
		if (p->is_read)
			rd_kafka_consume_stop(lag->topic, i);
		if (p->run.end > p->run.first)
			kafka_backlog_add(&p->backlog, p->run);
	}
	rd_kafka_queue_destroy(queue);
	return started > 0;
}

/* Leaves the gauge as it is if nothing could be read of a partition. */
static void measure(struct kafka_lag *lag)
{
	int64_t until_us = clock_steady_us(clock_system()) + READS_TIMEOUT_MS * CLOCK_US_PER_MS;
	double events = 0;
	for (int i = 0; i < READS_MAX && left_ms(until_us) > 0; i++) {
		if (!improve(lag, until_us))
			break;
	}
	for (const struct partition *p = lag->partitions; p < lag->partitions + lag->count; p++) {
		if (p->backlog.count == 0 && p->backlog.end > p->backlog.first)
			return;
		events += kafka_backlog_events(&p->backlog);
	}
	metrics_set(lag->config.gauge, (int64_t)(events + 0.5));
}

static void set_count(struct kafka_lag *lag, int32_t count)
{
	lag->partitions = mem_resize(lag->partitions, (size_t)count, sizeof(*lag->partitions));
	for (; lag->count < count; lag->count++)
		lag->partitions[lag->count] = (struct partition){ 0 };
	lag->count = count;
}

static void run(void *ctx)
{
	struct kafka_lag *lag = ctx;
	do {
		int32_t count = 0;
		rd_kafka_poll(lag->rk, 0); /* runs the callbacks of kafka_client */
		if (kafka_client_count_partitions(&lag->client, lag->rk, lag->topic,
		                                  REQUEST_TIMEOUT_MS,
		                                  &count) != RD_KAFKA_RESP_ERR_NO_ERROR)
			continue;
		set_count(lag, count);
		int64_t *from = mem_array((size_t)count, sizeof(*from));
		int64_t *ends = mem_array((size_t)count, sizeof(*ends));
		/* On failure the gauge keeps its value until the next turn. */
		if (query_backlogs(lag, count, from, ends) == OK)
			measure(lag);
		free(from);
		free(ends);
	} while (!thread_wait_ms(lag->thread, INTERVAL_MS));
}

static enum err open_client(struct kafka_lag *lag)
{
	const struct kafka_setting settings[] = {
		{ "group.id", lag->config.group },
		{ "enable.auto.commit", "false" },
		{ "enable.auto.offset.store", "false" },
		{ "auto.offset.reset", "error" },
		{ "max.partition.fetch.bytes", READ_BYTES },
		/* Beyond it a partition pauses for a second, also for the next read. */
		{ "queued.max.messages.kbytes", "1024" },
		{ "fetch.wait.max.ms", "10" },
	};
	rd_kafka_conf_t *conf = NULL;
	enum err err = kafka_client_configure(&lag->client, lag->config.kafka, settings,
	                                      ARRAY_SIZE(settings), &conf);
	if (err != OK)
		return err;
	/* Without a subscription it never joins the group. */
	lag->rk = kafka_client_open(&lag->client, RD_KAFKA_CONSUMER, conf);
	if (!lag->rk)
		return ERR_INVALID;
	lag->topic = rd_kafka_topic_new(lag->rk, lag->config.topic, NULL);
	return lag->topic ? OK : ERR_INVALID;
}

static void free_parts(struct kafka_lag *lag)
{
	if (lag->topic)
		rd_kafka_topic_destroy(lag->topic);
	if (lag->rk)
		rd_kafka_destroy(lag->rk);
	thread_free(lag->thread);
	free(lag->partitions);
	free(lag);
}

enum err kafka_lag_start(const struct kafka_lag_config *config, struct kafka_lag **out)
{
	struct kafka_lag *lag = mem_zero(sizeof(*lag));
	lag->config = *config;
	lag->client.log = config->log;
	lag->thread = thread_new();
	enum err err = open_client(lag);
	if (err != OK) {
		free_parts(lag);
		return err;
	}
	thread_start(lag->thread, "lag", run, lag);
	*out = lag;
	return OK;
}

void kafka_lag_stop(struct kafka_lag *lag)
{
	if (!lag)
		return;
	thread_stop(lag->thread);
	free_parts(lag);
}
