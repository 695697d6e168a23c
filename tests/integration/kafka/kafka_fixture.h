/*
 * One thread at a time. For tests with Kafka: creates topics, and reads their records without the
 * code under test.
 */
#ifndef WAYMARK_TESTS_INTEGRATION_KAFKA_KAFKA_FIXTURE_H
#define WAYMARK_TESTS_INTEGRATION_KAFKA_KAFKA_FIXTURE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/kafka/kafka_consumer.h"
#include "lib/kafka/kafka_producer.h"
#include "tests/integration/backend/backend_fixture.h"

/*
 * Creates a topic with the fixture's unique name. Skips the test, with a message, if the broker
 * cannot create topics.
 */
void kafka_fixture_create_topic(const struct backend_fixture *f, int32_t partitions);

/* The same with one partition and a setting. Returns what kafka_topics_ensure says of it. */
enum err kafka_fixture_try_topic(const struct backend_fixture *f, const char *setting,
                                 const char *value) MUST_CHECK;

/* Adds partitions to that topic until it has count. Returns when brokers name them all. */
void kafka_fixture_add_partitions(const struct backend_fixture *f, int32_t count);
void kafka_fixture_delete_topic(const struct backend_fixture *f);

/*
 * Sends count records with the keys and values "<prefix>0", "<prefix>1", … and waits until they are
 * acked.
 */
void kafka_fixture_fill(const struct backend_fixture *f, const char *prefix, int count);

/* For a consumer that reads everything the topic still has, each time. */
extern const struct kafka_consumer_events kafka_fixture_from_the_beginning;

/* A record of a partition. */
struct kafka_fixture_record {
	int32_t partition;
	int64_t offset;
	char key[64];
	char value[64];
	size_t header_count;
	struct {
		char name[32];
		char value[64];
	} headers[KAFKA_HEADERS_MAX];
};

/*
 * Reads the topic from its beginning with librdkafka alone, one partition after the other, each in
 * order. Returns the number of records, at most max.
 */
size_t kafka_fixture_read(const char *brokers, const char *topic, int32_t partitions,
                          struct kafka_fixture_record *out, size_t max);

/* Deletes the records before offset, as retention does. */
void kafka_fixture_delete_before(const struct backend_fixture *f, const char *topic,
                                 int32_t partition, int64_t offset);

#endif
