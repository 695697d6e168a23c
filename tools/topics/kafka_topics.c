#include "tools/topics/kafka_topics.h"

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/base/number.h"
#include "lib/kafka/kafka_client.h"
#include "lib/kafka/kafka_producer.h"

#define MESSAGE_MAX 512
#define PAUSE_MS 100
#define BATCH_SETTING "max.message.bytes"

struct admin {
	/* First: it is librdkafka's opaque. */
	struct kafka_client common;
	const struct kafka_topics_config *config;
	rd_kafka_t *client;
	rd_kafka_queue_t *results;
	int64_t deadline_us;
};

static int left_ms(const struct admin *a)
{
	int64_t left_us = a->deadline_us - clock_steady_us(clock_system());
	return left_us > CLOCK_US_PER_MS ? (int)(left_us / CLOCK_US_PER_MS) : 1;
}

static bool is_past_deadline(const struct admin *a)
{
	return clock_steady_us(clock_system()) >= a->deadline_us;
}

/* Waits PAUSE_MS. No result arrives on the queue between requests. */
static void wait_between_requests(const struct admin *a)
{
	rd_kafka_event_destroy(rd_kafka_queue_poll(a->results, PAUSE_MS));
	rd_kafka_poll(a->client, 0);
}

/* Each request has a timeout. rd_kafka_poll runs the callbacks that log why a login fails. */
static rd_kafka_event_t *wait_for_result(const struct admin *a)
{
	rd_kafka_event_t *event;
	while ((event = rd_kafka_queue_poll(a->results, PAUSE_MS)) == NULL)
		rd_kafka_poll(a->client, 0);
	rd_kafka_poll(a->client, 0);
	return event;
}

static enum err admin_open(struct admin *a, const struct kafka_topics_config *config)
{
	rd_kafka_conf_t *conf;
	*a = (struct admin){
		.common.log = config->log,
		.config = config,
		.deadline_us =
			clock_steady_us(clock_system()) + config->timeout_ms * CLOCK_US_PER_MS,
	};
	enum err result = kafka_client_configure(&a->common, config->kafka, NULL, 0, &conf);
	if (result != OK)
		return result;
	a->client = kafka_client_open(&a->common, RD_KAFKA_PRODUCER, conf);
	if (!a->client)
		return ERR_INVALID;
	a->results = rd_kafka_queue_new(a->client);
	return OK;
}

/* The options of one request, which may use the remaining time. */
static rd_kafka_AdminOptions_t *options_new(const struct admin *a, rd_kafka_admin_op_t operation)
{
	char message[MESSAGE_MAX];
	rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(a->client, operation);
	rd_kafka_AdminOptions_set_request_timeout(options, left_ms(a), message, sizeof(message));
	return options;
}

static rd_kafka_NewTopic_t *new_topic(const struct admin *a, const struct kafka_topic *topic)
{
	char message[MESSAGE_MAX];
	rd_kafka_NewTopic_t *wanted = rd_kafka_NewTopic_new(
		topic->name, topic->partitions, a->config->replication, message, sizeof(message));
	for (size_t i = 0; wanted && i < topic->setting_count; i++)
		rd_kafka_NewTopic_set_config(wanted, topic->settings[i].name,
		                             topic->settings[i].value);
	if (!wanted)
		log_error(a->config->log, "topic_rejected", LOG_TEXT("topic", topic->name),
		          LOG_TEXT("error", message));
	return wanted;
}

/*
 * ERR_UNAVAILABLE: try again. A broker that has just started may not have joined, so replicas have
 * no place yet.
 */
static enum err check_created_topic(const struct admin *a, const char *name,
                                    rd_kafka_resp_err_t code, const char *text)
{
	switch (code) {
	case RD_KAFKA_RESP_ERR_NO_ERROR:
		log_info(a->config->log, "topic_created", LOG_TEXT("topic", name));
		return OK;
	case RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS:
		return OK;
	case RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR:
	case RD_KAFKA_RESP_ERR_NOT_CONTROLLER:
	case RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT:
	case RD_KAFKA_RESP_ERR__TIMED_OUT:
	case RD_KAFKA_RESP_ERR__TRANSPORT:
		if (!is_past_deadline(a))
			return ERR_UNAVAILABLE;
		log_error(a->config->log, "topic_not_created", LOG_TEXT("topic", name),
		          LOG_TEXT("error", text), LOG_TEXT("brokers", a->config->kafka->brokers));
		return ERR_UNAVAILABLE;
	default:
		log_error(a->config->log, "topic_rejected", LOG_TEXT("topic", name),
		          LOG_TEXT("error", text));
		return ERR_INVALID;
	}
}

static enum err check_created_topics(const struct admin *a, rd_kafka_event_t *event)
{
	size_t count;
	const rd_kafka_CreateTopics_result_t *result = rd_kafka_event_CreateTopics_result(event);
	if (rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return check_created_topic(a, "*", rd_kafka_event_error(event),
		                           rd_kafka_event_error_string(event));
	const rd_kafka_topic_result_t **topics =
		rd_kafka_CreateTopics_result_topics(result, &count);
	enum err worst = OK;
	for (size_t i = 0; i < count; i++) {
		rd_kafka_resp_err_t code = rd_kafka_topic_result_error(topics[i]);
		const char *text = rd_kafka_topic_result_error_string(topics[i]);
		enum err err = check_created_topic(a, rd_kafka_topic_result_name(topics[i]), code,
		                                   text ? text : rd_kafka_err2str(code));
		if (err != OK && worst != ERR_INVALID)
			worst = err;
	}
	return worst;
}

static enum err create_once(const struct admin *a, rd_kafka_NewTopic_t **wanted, size_t count)
{
	rd_kafka_AdminOptions_t *options = options_new(a, RD_KAFKA_ADMIN_OP_CREATETOPICS);
	rd_kafka_CreateTopics(a->client, wanted, count, options, a->results);
	rd_kafka_event_t *event = wait_for_result(a);
	enum err result = check_created_topics(a, event);
	rd_kafka_event_destroy(event);
	rd_kafka_AdminOptions_destroy(options);
	return result;
}

static enum err create(const struct admin *a, const struct kafka_topic *topics, size_t count)
{
	enum err result = ERR_INVALID;
	rd_kafka_NewTopic_t **wanted = mem_array(count, sizeof(*wanted));
	size_t made = 0;
	while (made < count && (wanted[made] = new_topic(a, &topics[made])) != NULL)
		made++;
	while (made == count && (result = create_once(a, wanted, count)) == ERR_UNAVAILABLE &&
	       !is_past_deadline(a))
		wait_between_requests(a);
	rd_kafka_NewTopic_destroy_array(wanted, made);
	free(wanted);
	return result;
}

static const rd_kafka_metadata_topic_t *find(const rd_kafka_metadata_t *metadata, const char *name)
{
	for (int i = 0; i < metadata->topic_cnt; i++) {
		if (strcmp(metadata->topics[i].topic, name) == 0)
			return &metadata->topics[i];
	}
	return NULL;
}

static bool all_have_leaders(const rd_kafka_metadata_t *metadata, const struct kafka_topic *topics,
                             size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const rd_kafka_metadata_topic_t *found = find(metadata, topics[i].name);
		if (!found || found->err != RD_KAFKA_RESP_ERR_NO_ERROR || found->partition_cnt == 0)
			return false;
		for (int p = 0; p < found->partition_cnt; p++)
			if (found->partitions[p].leader < 0)
				return false;
	}
	return true;
}

static enum err wait_for_leaders(const struct admin *a, const struct kafka_topic *topics,
                                 size_t count, const rd_kafka_metadata_t **out)
{
	for (;; wait_between_requests(a)) {
		const rd_kafka_metadata_t *metadata = NULL;
		rd_kafka_resp_err_t code =
			rd_kafka_metadata(a->client, 1, NULL, &metadata, left_ms(a));
		if (code == RD_KAFKA_RESP_ERR_NO_ERROR &&
		    all_have_leaders(metadata, topics, count)) {
			*out = metadata;
			return OK;
		}
		rd_kafka_metadata_destroy(metadata);
		if (is_past_deadline(a)) {
			log_error(a->config->log, "topics_have_no_leaders",
			          LOG_TEXT("error", rd_kafka_err2str(code)));
			return ERR_UNAVAILABLE;
		}
	}
}

static enum err compare_partitions(const struct admin *a, const struct kafka_topic *topics,
                                   size_t count)
{
	const rd_kafka_metadata_t *metadata;
	enum err result = wait_for_leaders(a, topics, count, &metadata);
	if (result != OK)
		return result;
	for (size_t i = 0; i < count; i++) {
		int partitions = find(metadata, topics[i].name)->partition_cnt;
		if (partitions == topics[i].partitions)
			continue;
		log_error(a->config->log, "topic_differs", LOG_TEXT("topic", topics[i].name),
		          LOG_INT("partitions", partitions),
		          LOG_INT("wanted", topics[i].partitions));
		result = ERR_CONFLICT;
	}
	rd_kafka_metadata_destroy(metadata);
	return result;
}

static const char *value_of(const rd_kafka_ConfigEntry_t **entries, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		const char *value = rd_kafka_ConfigEntry_value(entries[i]);
		if (strcmp(rd_kafka_ConfigEntry_name(entries[i]), name) == 0)
			return value ? value : "";
	}
	return "";
}

/* The brokers report their own message.max.bytes here if the topic does not set it. */
static enum err check_batch_size(const struct admin *a, const struct kafka_topic *topic,
                                 const char *value)
{
	int64_t bytes = 0;
	if (number_parse(value, KAFKA_PRODUCER_BATCH_BYTES_MAX, INT64_MAX, &bytes) == OK)
		return OK;
	log_error(a->config->log, "topic_differs", LOG_TEXT("topic", topic->name),
	          LOG_TEXT("setting", BATCH_SETTING), LOG_TEXT("value", value),
	          LOG_INT("wanted_at_least", KAFKA_PRODUCER_BATCH_BYTES_MAX));
	return ERR_CONFLICT;
}

static enum err compare_resource(const struct admin *a, const struct kafka_topic *topic,
                                 const rd_kafka_ConfigResource_t *resource)
{
	size_t count;
	const rd_kafka_ConfigEntry_t **entries = rd_kafka_ConfigResource_configs(resource, &count);
	enum err result = check_batch_size(a, topic, value_of(entries, count, BATCH_SETTING));
	for (size_t i = 0; i < topic->setting_count; i++) {
		const struct kafka_topic_setting *wanted = &topic->settings[i];
		const char *value = value_of(entries, count, wanted->name);
		if (strcmp(value, wanted->value) == 0)
			continue;
		log_error(a->config->log, "topic_differs", LOG_TEXT("topic", topic->name),
		          LOG_TEXT("setting", wanted->name), LOG_TEXT("value", value),
		          LOG_TEXT("wanted", wanted->value));
		result = ERR_CONFLICT;
	}
	return result;
}

static enum err compare_described(const struct admin *a, const struct kafka_topic *topic,
                                  rd_kafka_event_t *event)
{
	size_t count = 0;
	rd_kafka_resp_err_t code = rd_kafka_event_error(event);
	const rd_kafka_DescribeConfigs_result_t *result =
		rd_kafka_event_DescribeConfigs_result(event);
	const rd_kafka_ConfigResource_t **resources = NULL;
	if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
		resources = rd_kafka_DescribeConfigs_result_resources(result, &count);
	if (count == 1)
		code = rd_kafka_ConfigResource_error(resources[0]);
	if (count == 1 && code == RD_KAFKA_RESP_ERR_NO_ERROR)
		return compare_resource(a, topic, resources[0]);
	log_error(a->config->log, "topic_settings_unavailable", LOG_TEXT("topic", topic->name),
	          LOG_TEXT("error", rd_kafka_err2str(code)));
	return ERR_UNAVAILABLE;
}

static enum err compare_settings(const struct admin *a, const struct kafka_topic *topic)
{
	rd_kafka_AdminOptions_t *options = options_new(a, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS);
	rd_kafka_ConfigResource_t *resource =
		rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic->name);
	rd_kafka_DescribeConfigs(a->client, &resource, 1, options, a->results);
	rd_kafka_event_t *event = wait_for_result(a);
	enum err result = compare_described(a, topic, event);
	rd_kafka_event_destroy(event);
	rd_kafka_ConfigResource_destroy(resource);
	rd_kafka_AdminOptions_destroy(options);
	return result;
}

enum err kafka_topics_ensure(const struct kafka_topics_config *config,
                             const struct kafka_topic *topics, size_t count)
{
	struct admin a;
	enum err result = admin_open(&a, config);
	if (result != OK)
		return result;
	result = create(&a, topics, count);
	if (result == OK)
		result = compare_partitions(&a, topics, count);
	for (size_t i = 0; i < count && (result == OK || result == ERR_CONFLICT); i++) {
		enum err err = compare_settings(&a, &topics[i]);
		if (err != OK)
			result = err;
	}
	rd_kafka_queue_destroy(a.results);
	rd_kafka_destroy(a.client);
	return result;
}
