/*
 * One thread at a time. Creates Kafka topics explicitly, because the brokers have
 * auto.create.topics.enable=false, and compares existing topics with their configuration.
 */
#ifndef WAYMARK_TOOLS_TOPICS_KAFKA_TOPICS_H
#define WAYMARK_TOOLS_TOPICS_KAFKA_TOPICS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/kafka/kafka_config.h"

#define KAFKA_TOPIC_NAME_MAX 249
#define KAFKA_TOPIC_SETTINGS_MAX 8

struct kafka_topic_setting {
	/* "retention.ms". */
	char name[64];
	char value[64];
};

struct kafka_topic {
	char name[KAFKA_TOPIC_NAME_MAX + 1];
	int32_t partitions;
	struct kafka_topic_setting settings[KAFKA_TOPIC_SETTINGS_MAX];
	size_t setting_count;
};

struct kafka_topics_config {
	const struct kafka_config *kafka;
	/* Copies of each partition; -1: the brokers' default. */
	int replication;
	int64_t timeout_ms;
	const struct log *log;
};

/*
 * Creates missing topics, waits until every partition has a leader, then compares partitions and
 * settings, and checks that each topic accepts the largest batch of kafka_producer. Never changes
 * an existing topic. ERR_CONFLICT: a topic differs (each difference logged). ERR_UNAVAILABLE: not
 * done within timeout_ms. ERR_INVALID: the brokers reject a topic, or librdkafka rejects the
 * configuration (logged).
 */
enum err kafka_topics_ensure(const struct kafka_topics_config *config,
                             const struct kafka_topic *topics, size_t count) MUST_CHECK;

#endif
