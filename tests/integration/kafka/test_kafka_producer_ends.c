#include <poll.h>
#include <stdatomic.h>
#include <stdint.h>

#include "lib/kafka/kafka_producer.h"
#include "tests/integration/kafka/kafka_fixture.h"
#include "tests/support/test.h"

#define TIMEOUT_MS TEST_DEADLINE_MS

struct acks {
	_Atomic int count;
	_Atomic int64_t last_offset[2];
};

static void record_ack(void *ctx, const struct kafka_record *record, int32_t partition,
                       int64_t offset)
{
	struct acks *acks = ctx;
	assert_non_null(record->opaque);
	atomic_fetch_add(&acks->count, 1);
	atomic_store(&acks->last_offset[partition], offset);
}

static struct kafka_producer *new_producer(const struct backend_fixture *f, struct acks *acks)
{
	const struct kafka_producer_config config = {
		.kafka = &f->kafka,
		.topics = { f->unique },
		.counts_partitions = true,
		.queue_max = 100,
		.queue_bytes_max = 1 << 20,
		.acked = record_ack,
		.ctx = acks,
		.log = f->log,
	};
	struct kafka_producer *p = NULL;
	assert_int_equal(kafka_producer_new(&config, &p), OK);
	return p;
}

TEST_CASE(acks_name_their_offsets_and_a_query_the_ends)
{
	const struct backend_fixture *f = *state;
	struct acks acks = { 0 };
	kafka_fixture_create_topic(f, 2);
	struct kafka_producer *p = new_producer(f, &acks);
	int64_t ends[2] = { -1, -1 };
	int32_t partitions = 0;
	/* A new topic has no leaders for a moment. */
	while (kafka_producer_query_ends(p, f->unique, TIMEOUT_MS, ends, 2, &partitions) != OK)
		poll(NULL, 0, 10);
	assert_int_equal(partitions, 2);
	assert_int_equal(ends[0] + ends[1], 0);
	for (uintptr_t i = 1; i <= 20; i++) {
		char key[8];
		snprintf(key, sizeof(key), "%d", (int)i);
		const struct kafka_record record = { .topic = f->unique,
			                             .key = key,
			                             .key_len = strlen(key),
			                             .value = "value",
			                             .value_len = 5,
			                             .opaque = (void *)i };
		assert_int_equal(kafka_producer_send(p, &record), OK);
	}
	assert_int_equal(kafka_producer_flush(p, TIMEOUT_MS), OK);
	assert_int_equal(atomic_load(&acks.count), 20);
	assert_int_equal(kafka_producer_query_ends(p, f->unique, TIMEOUT_MS, ends, 2, &partitions),
	                 OK);
	assert_int_equal(ends[0] + ends[1], 20);
	for (int part = 0; part < 2; part++)
		assert_int_equal(atomic_load(&acks.last_offset[part]) + 1, ends[part]);
	assert_int_equal(kafka_producer_query_ends(p, f->unique, TIMEOUT_MS, ends, 1, &partitions),
	                 ERR_LIMIT);
	kafka_producer_free(p);
}

static bool knows_partitions(void *p)
{
	return kafka_producer_partitions(p) > 0;
}

static bool says_partitions_are_unknown(void *f)
{
	return backend_fixture_logged(f, "kafka_partitions_unknown") > 0;
}

TEST_CASE(counts_the_partitions_of_a_topic_that_is_created_later)
{
	const struct backend_fixture *f = *state;
	struct acks acks = { 0 };
	struct kafka_producer *p = new_producer(f, &acks);
	backend_fixture_wait(kafka_producer_is_reachable, p, TIMEOUT_MS);
	backend_fixture_wait(says_partitions_are_unknown, *state, TIMEOUT_MS);
	assert_int_equal(kafka_producer_partitions(p), 0);
	kafka_fixture_create_topic(f, 5);
	backend_fixture_wait(knows_partitions, p, TIMEOUT_MS);
	assert_int_equal(kafka_producer_partitions(p), 5);
	kafka_producer_free(p);
	assert_int_equal(backend_fixture_logged(f, "kafka_partitions_unknown"), 1);
}

static void send_to_partition(struct kafka_producer *p, const char *topic, int32_t partition)
{
	const struct kafka_record record = { .topic = topic,
		                             .has_partition = true,
		                             .partition = partition,
		                             .value = "v",
		                             .value_len = 1,
		                             .opaque = p };
	assert_int_equal(kafka_producer_send(p, &record), OK);
}

/* Its topic may have been created again meanwhile, with fewer. */
TEST_CASE(sends_a_record_of_a_partition_that_does_not_exist_to_another)
{
	const struct backend_fixture *f = *state;
	struct acks acks = { 0 };
	kafka_fixture_create_topic(f, 2);
	struct kafka_producer *p = new_producer(f, &acks);
	/* Before and after the producer knows the partitions. */
	send_to_partition(p, f->unique, 7);
	assert_int_equal(kafka_producer_flush(p, TIMEOUT_MS), OK);
	send_to_partition(p, f->unique, 7);
	send_to_partition(p, f->unique, 1);
	assert_int_equal(kafka_producer_flush(p, TIMEOUT_MS), OK);
	assert_int_equal(atomic_load(&acks.count), 3);
	kafka_producer_free(p);
	struct kafka_fixture_record got[4];
	assert_int_equal(kafka_fixture_read(f->kafka.brokers, f->unique, 2, got, 4), 3);
}

TEST_MAIN(.set_up = backend_fixture_set_up, .tear_down = backend_fixture_tear_down)
