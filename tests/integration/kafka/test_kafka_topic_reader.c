#include <librdkafka/rdkafka.h>
#include <stdint.h>

#include "lib/kafka/kafka_topic_reader.h"
#include "tests/integration/kafka/kafka_fixture.h"
#include "tests/support/test.h"

#define TIMEOUT_MS TEST_DEADLINE_MS
#define PARTITIONS_MAX 8

/* A reader and what its callbacks recorded. */
struct recorder {
	struct kafka_topic_reader *reader;
	int32_t found;
	int lost;
	int ends;
	int64_t end;
	int received;
	int last_topic;
	int received_of[PARTITIONS_MAX];
	/* The probes have none. */
	int received_with_value;
	char last_key[64];
	char last_value[64];
	char last_header[64];
	bool last_is_tombstone;
};

static void on_found(void *ctx, int topic, int32_t count)
{
	struct recorder *r = ctx;
	assert_true(count > r->found || topic == 1);
	r->found = count;
}

static void on_end(void *ctx, int topic, int32_t partition, int64_t offset)
{
	struct recorder *r = ctx;
	(void)topic;
	(void)partition;
	r->ends++;
	r->end = offset;
}

static void on_lost(void *ctx, int topic, int32_t partition)
{
	struct recorder *r = ctx;
	assert_int_equal(topic, 0);
	assert_in_range(partition, 0, PARTITIONS_MAX - 1);
	r->lost++;
}

static void start_reader_of(const struct backend_fixture *f, const struct kafka_config *kafka,
                            const char *second_topic, int64_t tail, struct recorder *r)
{
	assert_int_equal(kafka_topic_reader_new(
				 &(struct kafka_topic_reader_config){
					 .kafka = kafka,
					 .topics = { f->unique, second_topic },
					 .tail = tail,
					 .events = { on_found, on_lost, on_end },
					 .ctx = r,
					 .log = f->log,
				 },
				 &r->reader),
	                 OK);
}

static void start_reader(const struct backend_fixture *f, const struct kafka_config *kafka,
                         struct recorder *r)
{
	start_reader_of(f, kafka, NULL, 0, r);
}

static void poll_once(struct recorder *r, int64_t timeout_ms)
{
	struct kafka_message m;
	enum err err = kafka_topic_reader_poll(r->reader, timeout_ms, &m);
	if (err != OK) {
		assert_true(err == ERR_NOT_FOUND || err == ERR_UNAVAILABLE);
		return;
	}
	r->received++;
	r->received_of[m.partition]++;
	r->received_with_value += m.value != NULL;
	snprintf(r->last_key, sizeof(r->last_key), "%.*s", (int)m.key_len, (const char *)m.key);
	snprintf(r->last_value, sizeof(r->last_value), "%.*s", (int)m.value_len,
	         m.value ? (const char *)m.value : "");
	r->last_is_tombstone = m.value == NULL;
	r->last_topic = m.topic;
	if (kafka_message_header(m.record, "name", r->last_header, sizeof(r->last_header)) != OK)
		r->last_header[0] = '\0';
}

static bool has_found(struct recorder *r, int wanted)
{
	return r->found == wanted;
}

static bool has_got(struct recorder *r, int wanted)
{
	return r->received >= wanted;
}

static bool has_got_values(struct recorder *r, int wanted)
{
	return r->received_with_value >= wanted;
}

static bool has_reached_an_end(struct recorder *r, int wanted)
{
	return r->ends >= wanted;
}

static bool has_end(struct recorder *r, int wanted)
{
	return r->end == wanted;
}

static bool has_lost(struct recorder *r, int wanted)
{
	return r->lost >= wanted;
}

static void poll_until(struct recorder *r, bool (*holds)(struct recorder *r, int wanted),
                       int wanted)
{
	int64_t until_ms = backend_fixture_now_ms() + TIMEOUT_MS;
	while (!holds(r, wanted)) {
		assert_true(backend_fixture_now_ms() < until_ms);
		poll_once(r, 50);
	}
}

/* Sends records to each partition until one of each arrives: the reader then has found all ends. */
static void poll_until_reading(const struct backend_fixture *f, struct recorder *r,
                               int32_t partitions)
{
	poll_until(r, has_found, partitions);
	struct kafka_producer *p = NULL;
	const struct kafka_producer_config config = { .kafka = &f->kafka,
		                                      .queue_max = 1000,
		                                      .queue_bytes_max = 1 << 20,
		                                      .linger_ms = 0,
		                                      .log = f->log };
	assert_int_equal(kafka_producer_new(&config, &p), OK);
	for (int32_t part = 0; part < partitions; part++) {
		int64_t until_ms = backend_fixture_now_ms() + TIMEOUT_MS;
		for (r->received_of[part] = 0; r->received_of[part] == 0; poll_once(r, 50)) {
			assert_true(backend_fixture_now_ms() < until_ms);
			const struct kafka_record record = { .topic = f->unique,
				                             .key = "probe",
				                             .key_len = 5,
				                             .headers = { { "name",
				                                            "value of a header" } },
				                             .header_count = 1,
				                             .has_partition = true,
				                             .partition = part };
			assert_int_equal(kafka_producer_send(p, &record), OK);
			assert_int_equal(kafka_producer_flush(p, TIMEOUT_MS), OK);
		}
	}
	kafka_producer_free(p);
	for (int quiet = 0; quiet < 3;) {
		int before = r->received;
		poll_once(r, 200);
		quiet = r->received == before ? quiet + 1 : 0;
	}
}

TEST_CASE(reads_every_partition_from_its_end)
{
	const struct backend_fixture *f = *state;
	kafka_fixture_create_topic(f, 4);
	kafka_fixture_fill(f, "old", 100);
	struct recorder r = { 0 };
	start_reader(f, &f->kafka, &r);
	poll_until_reading(f, &r, 4);
	assert_string_equal(r.last_key, "probe");
	assert_true(r.last_is_tombstone);
	assert_string_equal(r.last_header, "value of a header");
	assert_true(r.received >= 4);
	assert_int_equal(r.received_with_value, 0);
	kafka_fixture_fill(f, "new", 100);
	poll_until(&r, has_got_values, 100);
	assert_int_equal(strncmp(r.last_value, "new", 3), 0);
	assert_false(r.last_is_tombstone);
	for (int part = 0; part < 4; part++)
		assert_true(r.received_of[part] > 1);
	assert_int_equal(r.lost, 0);
	kafka_topic_reader_free(r.reader);
}

TEST_CASE(starts_while_the_brokers_are_unreachable)
{
	struct backend_fixture *f = *state;
	struct kafka_config nowhere = f->kafka;
	snprintf(nowhere.brokers, sizeof(nowhere.brokers), "127.0.0.1:1");
	struct recorder r = { 0 };
	start_reader(f, &nowhere, &r);
	struct kafka_message m;
	assert_int_equal(kafka_topic_reader_poll(r.reader, 10, &m), ERR_UNAVAILABLE);
	kafka_topic_reader_free(r.reader);

	/* A topic that is created later is equivalent to brokers that start later. */
	struct recorder early = { 0 };
	start_reader(f, &f->kafka, &early);
	poll_once(&early, 10);
	assert_int_equal(early.found, 0);
	kafka_fixture_create_topic(f, 2);
	poll_until_reading(f, &early, 2);
	kafka_topic_reader_free(early.reader);
}

TEST_CASE(reads_partitions_that_are_added_from_their_beginning)
{
	const struct backend_fixture *f = *state;
	kafka_fixture_create_topic(f, 1);
	struct recorder r = { 0 };
	start_reader(f, &f->kafka, &r);
	poll_until_reading(f, &r, 1);
	kafka_fixture_add_partitions(f, 3);
	kafka_fixture_fill(f, "k", 60);
	poll_until(&r, has_got_values, 60);
	assert_int_equal(r.found, 3);
	assert_true(r.received_of[1] > 0 && r.received_of[2] > 0);
	assert_int_equal(r.lost, 0);
	kafka_topic_reader_free(r.reader);
}

TEST_CASE(reports_a_lost_offset_and_continues_at_the_end)
{
	const struct backend_fixture *f = *state;
	kafka_fixture_create_topic(f, 1);
	struct recorder r = { 0 };
	start_reader(f, &f->kafka, &r);
	poll_until_reading(f, &r, 1);
	kafka_fixture_delete_topic(f);
	kafka_fixture_create_topic(f, 1);
	poll_until(&r, has_lost, 1);
	poll_until_reading(f, &r, 1);
	kafka_topic_reader_free(r.reader);
}

/* A partition's end is known at the start, although nothing arrives. */
TEST_CASE(names_the_ends_that_it_reaches)
{
	const struct backend_fixture *f = *state;
	kafka_fixture_create_topic(f, 1);
	struct recorder empty = { 0 };
	start_reader(f, &f->kafka, &empty);
	poll_until(&empty, has_reached_an_end, 1);
	assert_int_equal(empty.end, 0);
	kafka_topic_reader_free(empty.reader);
	kafka_fixture_fill(f, "old", 3);
	struct recorder r = { 0 };
	start_reader(f, &f->kafka, &r);
	poll_until(&r, has_reached_an_end, 1);
	assert_int_equal(r.end, 3);
	assert_int_equal(r.received, 0);
	kafka_fixture_fill(f, "new", 2);
	/* The reader may reach an end between the two. */
	poll_until(&r, has_got, 2);
	poll_until(&r, has_end, 5);
	assert_int_equal(r.received, 2);
	kafka_topic_reader_skip_to_end(r.reader, 0, 0);
	assert_int_equal(r.lost, 1);
	poll_until(&r, has_reached_an_end, r.ends + 1);
	assert_int_equal(r.end, 5);
	kafka_topic_reader_free(r.reader);
}

TEST_CASE(reads_two_topics)
{
	struct backend_fixture second = *(const struct backend_fixture *)*state;
	const struct backend_fixture *f = *state;
	snprintf(second.unique, sizeof(second.unique), "%.40s.2", f->unique);
	kafka_fixture_create_topic(f, 1);
	kafka_fixture_create_topic(&second, 1);
	struct recorder r = { 0 };
	start_reader_of(f, &f->kafka, second.unique, 0, &r);
	poll_until(&r, has_reached_an_end, 2);
	kafka_fixture_fill(f, "a", 1);
	poll_until(&r, has_got, 1);
	assert_int_equal(r.last_topic, 0);
	kafka_fixture_fill(&second, "b", 1);
	poll_until(&r, has_got, 2);
	assert_int_equal(r.last_topic, 1);
	assert_string_equal(r.last_value, "b0");
	kafka_topic_reader_free(r.reader);
}

TEST_CASE(begins_with_the_last_records_if_it_should)
{
	const struct backend_fixture *f = *state;
	kafka_fixture_create_topic(f, 1);
	kafka_fixture_fill(f, "old", 10);
	struct recorder r = { 0 };
	start_reader_of(f, &f->kafka, NULL, 3, &r);
	poll_until(&r, has_reached_an_end, 1);
	assert_int_equal(r.received, 3);
	assert_string_equal(r.last_value, "old9");
	kafka_topic_reader_free(r.reader);
	struct recorder all = { 0 };
	start_reader_of(f, &f->kafka, NULL, 100, &all);
	poll_until(&all, has_reached_an_end, 1);
	assert_int_equal(all.received, 10);
	assert_int_equal(all.lost, 0);
	kafka_topic_reader_free(all.reader);
}

TEST_MAIN(.set_up = backend_fixture_set_up, .tear_down = backend_fixture_tear_down)
