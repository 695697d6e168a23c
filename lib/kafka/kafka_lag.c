#include "lib/kafka/kafka_lag.h"

#include <stdlib.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/base/thread.h"
#include "lib/kafka/kafka_client.h"

#define INTERVAL_MS 1000
#define REQUEST_TIMEOUT_MS 1000

struct kafka_lag {
	/* First: it is librdkafka's opaque. */
	struct kafka_client client;
	struct kafka_lag_config config;
	rd_kafka_t *rk;
	rd_kafka_topic_t *topic;
	struct thread *thread;
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

/* from and ends have a place for each of count partitions. */
static enum err measure(struct kafka_lag *lag, int32_t count, int64_t *from, int64_t *ends)
{
	int64_t sum = 0;
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
		sum += ends[p] > from[p] ? ends[p] - from[p] : 0;
	if (err == OK)
		metrics_set(lag->config.gauge, sum);
	return err;
}

static void run(void *ctx)
{
	struct kafka_lag *lag = ctx;
	do {
		int32_t count = 0;
		rd_kafka_poll(lag->rk, 0); /* runs the callbacks of kafka_client */
		if (kafka_client_count_partitions(&lag->client, lag->rk, lag->topic,
		                                  REQUEST_TIMEOUT_MS, &count) != OK)
			continue;
		int64_t *from = mem_array((size_t)count, sizeof(*from));
		int64_t *ends = mem_array((size_t)count, sizeof(*ends));
		/* On failure the gauge keeps its value until the next turn. */
		(void)(measure(lag, count, from, ends) == OK);
		free(from);
		free(ends);
	} while (!thread_wait_ms(lag->thread, INTERVAL_MS));
}

static enum err open_client(struct kafka_lag *lag)
{
	const struct kafka_setting settings[] = { { "group.id", lag->config.group } };
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
