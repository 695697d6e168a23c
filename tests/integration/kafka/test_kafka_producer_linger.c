#include "tests/integration/kafka/kafka_fixture.h"
#include "tests/support/test.h"

/* The longest time that librdkafka accepts, and longer than any wait of a test. */
#define LINGER_MAX_MS 900000

static void send_record(const struct backend_fixture *f, struct kafka_producer *p)
{
	const struct kafka_record record = {
		.topic = f->unique, .key = "a", .key_len = 1, .value = "b", .value_len = 1
	};
	assert_int_equal(kafka_producer_send(p, &record), OK);
}

TEST_CASE(sends_at_once_when_it_no_longer_lingers)
{
	const struct backend_fixture *f = *state;
	struct kafka_producer *p = NULL;
	kafka_fixture_create_topic(f, 1);
	assert_int_equal(
		kafka_producer_new(&(struct kafka_producer_config){ .kafka = &f->kafka,
	                                                            .queue_max = 100,
	                                                            .queue_bytes_max = 10000,
	                                                            .linger_ms = LINGER_MAX_MS,
	                                                            .log = f->log },
	                           &p),
		OK);
	send_record(f, p);
	kafka_producer_end_linger(p);
	assert_int_equal(kafka_producer_flush(p, TEST_DEADLINE_MS), OK);
	send_record(f, p);
	assert_int_equal(kafka_producer_flush(p, TEST_DEADLINE_MS), OK);
	kafka_producer_free(p);
}

TEST_MAIN(.set_up = backend_fixture_set_up, .tear_down = backend_fixture_tear_down)
