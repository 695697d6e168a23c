/*
 * One thread at a time. For the tests of the Kafka wrappers: topics of their own, and what a topic holds.
 */
#ifndef WAYMARK_TESTS_INTEGRATION_NET_KAFKA_FIXTURE_H
#define WAYMARK_TESTS_INTEGRATION_NET_KAFKA_FIXTURE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/net/kafka_consumer.h"
#include "lib/net/kafka_producer.h"
#include "tests/integration/net/net_fixture.h"

/* Makes a topic whose name is the fixture's unique one. Skips the test, and says so, where the broker makes none. */
void kafka_fixture_make_topic(const struct net_fixture *f, int32_t partitions);

/* Sends count records with the keys and values "<prefix>0", "<prefix>1", … and waits until they are acked. */
void kafka_fixture_fill(const struct net_fixture *f, const char *prefix, int count);

/* For a consumer that reads whatever the topic still has, and all of it each time. */
extern const struct kafka_consumer_events kafka_fixture_from_the_beginning;

/* A record as it lies in a partition. */
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
 * Reads the topic from its beginning, with none of the code under test: the records of each partition in their order,
 * one partition after the other. Gives their number, at most max.
 */
size_t kafka_fixture_read(const char *brokers, const char *topic, int32_t partitions, struct kafka_fixture_record *out,
                          size_t max);

/* What retention does: the partition begins with that offset from then on. */
void kafka_fixture_delete_before(const struct net_fixture *f, const char *topic, int32_t partition, int64_t offset);

#endif
