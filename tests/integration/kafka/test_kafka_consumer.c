#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdint.h>
#include <unistd.h>

#include "lib/base/mem.h"
#include "lib/kafka/kafka_consumer.h"
#include "tests/integration/kafka/kafka_fixture.h"
#include "tests/support/test.h"

#define TIMEOUT_MS TEST_DEADLINE_MS
#define PARTITIONS_MAX 8
#define RECORDS_MAX 1000

/* A consumer, its start offsets, and what its callbacks recorded. */
struct member {
	struct kafka_consumer *consumer;
	/* The offsets that assigned returns. */
	int64_t start[PARTITIONS_MAX];
	/* How often assigned fails first. */
	int failures;
	int asked, revoked, lost;
	bool has[PARTITIONS_MAX];
	int32_t failed_partition;
	int64_t failed_offset;
	int out_of_range;
	/* Records polled of each partition. */
	int received[PARTITIONS_MAX];
	/* The offset of the last record. */
	int64_t last[PARTITIONS_MAX];
};

static enum err on_assigned(void *ctx, const int32_t *partitions, size_t count, int64_t *offsets)
{
	struct member *m = ctx;
	m->asked++;
	if (m->failures > 0) {
		m->failures--;
		return ERR_UNAVAILABLE;
	}
	for (size_t i = 0; i < count; i++) {
		offsets[i] = m->start[partitions[i]];
		m->has[partitions[i]] = true;
	}
	return OK;
}

static void on_revoked(void *ctx, bool lost)
{
	struct member *m = ctx;
	m->revoked++;
	m->lost += lost;
	memset(m->has, 0, sizeof(m->has));
}

static void on_out_of_range(void *ctx, int32_t partition, int64_t offset)
{
	struct member *m = ctx;
	m->out_of_range++;
	m->failed_partition = partition;
	m->failed_offset = offset;
}

static void join(const struct backend_fixture *f, struct member *m)
{
	assert_int_equal(kafka_consumer_new(
				 &(struct kafka_consumer_config){
					 .kafka = &f->kafka,
					 .group = f->unique,
					 .topic = f->unique,
					 /* longer than a test waits for members that leave */
					 .session_timeout_ms = 2 * TIMEOUT_MS,
					 .events = { on_assigned, on_revoked, on_out_of_range },
					 .ctx = m,
					 .log = f->log,
				 },
				 &m->consumer),
	                 OK);
}

/* Polls once and counts a record. */
static bool poll_once(struct member *m, int64_t timeout_ms)
{
	struct kafka_message message;
	enum err err = kafka_consumer_poll(m->consumer, timeout_ms, &message);
	if (err != OK) {
		assert_true(err == ERR_NOT_FOUND || err == ERR_UNAVAILABLE);
		return false;
	}
	m->received[message.partition]++;
	m->last[message.partition] = message.offset;
	return true;
}

static int total(const struct member *m)
{
	int sum = 0;
	for (int i = 0; i < PARTITIONS_MAX; i++)
		sum += m->received[i];
	return sum;
}

static int partitions_of(const struct member *m)
{
	int sum = 0;
	for (int i = 0; i < PARTITIONS_MAX; i++)
		sum += m->has[i];
	return sum;
}

/* Polls until count records have arrived, then checks that there are no more. */
static void poll_exactly(struct member *m, int count)
{
	int64_t until_ms = backend_fixture_now_ms() + TIMEOUT_MS;
	while (total(m) < count) {
		assert_true(backend_fixture_now_ms() < until_ms);
		poll_once(m, 100);
	}
	assert_false(poll_once(m, 300));
	assert_int_equal(total(m), count);
}

TEST_CASE(starts_at_the_offsets_it_is_given)
{
	const struct backend_fixture *f = *state;
	kafka_fixture_create_topic(f, 2);
	struct kafka_fixture_record *all = mem_array(RECORDS_MAX, sizeof(*all));
	kafka_fixture_fill(f, "k", 100);
	assert_int_equal(kafka_fixture_read(f->kafka.brokers, f->unique, 2, all, RECORDS_MAX), 100);
	int in_first = 0;
	for (int i = 0; i < 100; i++)
		in_first += all[i].partition == 0;
	free(all);
	assert_in_range(in_first, 11, 89);
	struct member m = { .start = { 10, KAFKA_CONSUMER_BEGINNING } };
	join(f, &m);
	poll_exactly(&m, 90);
	assert_int_equal(m.received[0], in_first - 10);
	assert_int_equal(m.received[1], 100 - in_first);
	assert_int_equal(kafka_consumer_lag(m.consumer), 0);
	assert_true(kafka_consumer_is_reachable(m.consumer));
	kafka_consumer_free(m.consumer);
	assert_int_equal(m.revoked, 1);
	assert_int_equal(m.lost, 0);
}

TEST_CASE(returns_key_value_and_time)
{
	const struct backend_fixture *f = *state;
	kafka_fixture_create_topic(f, 1);
	kafka_fixture_fill(f, "only", 1);
	struct member m = { .start = { 0 } };
	join(f, &m);
	struct kafka_message message;
	int64_t until_ms = backend_fixture_now_ms() + TIMEOUT_MS;
	while (kafka_consumer_poll(m.consumer, 100, &message) != OK)
		assert_true(backend_fixture_now_ms() < until_ms);
	assert_int_equal(message.partition, 0);
	assert_int_equal(message.offset, 0);
	assert_memory_equal(message.key, "only0", message.key_len);
	assert_int_equal(message.key_len, 5);
	assert_memory_equal(message.value, "only0", message.value_len);
	assert_int_equal(message.value_len, 5);
	assert_in_range(message.timestamp_ms, 1700000000000, 4000000000000);
	kafka_consumer_free(m.consumer);
}

TEST_CASE(retries_until_it_gets_start_offsets)
{
	const struct backend_fixture *f = *state;
	kafka_fixture_create_topic(f, 1);
	kafka_fixture_fill(f, "k", 5);
	struct member m = { .start = { 2 }, .failures = 2 };
	join(f, &m);
	poll_exactly(&m, 3);
	assert_int_equal(m.asked, 3);
	kafka_consumer_free(m.consumer);
	assert_int_equal(m.revoked, 1);
}

TEST_CASE(calls_no_revoked_for_partitions_it_never_read)
{
	const struct backend_fixture *f = *state;
	kafka_fixture_create_topic(f, 1);
	struct member m = { .failures = 1000 };
	join(f, &m);
	int64_t until_ms = backend_fixture_now_ms() + TIMEOUT_MS;
	while (m.asked < 2) {
		assert_true(backend_fixture_now_ms() < until_ms);
		poll_once(&m, 100);
	}
	kafka_consumer_free(m.consumer);
	assert_int_equal(m.revoked, 0);
}

static void poll_until_out_of_range(struct member *m)
{
	int64_t until_ms = backend_fixture_now_ms() + TIMEOUT_MS;
	while (m->out_of_range == 0) {
		assert_true(backend_fixture_now_ms() < until_ms);
		poll_once(m, 100);
	}
}

TEST_CASE(reports_an_offset_beyond_the_end_instead_of_skipping)
{
	const struct backend_fixture *f = *state;
	kafka_fixture_create_topic(f, 1);
	kafka_fixture_fill(f, "k", 5);
	struct member m = { .start = { 1000 } };
	join(f, &m);
	poll_until_out_of_range(&m);
	assert_int_equal(m.failed_partition, 0);
	assert_int_equal(m.failed_offset, 1000);
	assert_int_equal(total(&m), 0);
	/* Nothing is read until a seek. */
	assert_false(poll_once(&m, 500));
	assert_int_equal(m.out_of_range, 1);
	assert_int_equal(kafka_consumer_seek(m.consumer, 0, 3), OK);
	poll_exactly(&m, 2);
	kafka_consumer_free(m.consumer);
}

TEST_CASE(reads_again_from_the_offset_of_a_seek)
{
	const struct backend_fixture *f = *state;
	kafka_fixture_create_topic(f, 1);
	kafka_fixture_fill(f, "k", 500);
	struct member m = { .start = { 0 } };
	join(f, &m);
	int64_t until_ms = backend_fixture_now_ms() + TIMEOUT_MS;
	while (total(&m) < 200) {
		assert_true(backend_fixture_now_ms() < until_ms);
		poll_once(&m, 100);
	}
	/*
	 * librdkafka has fetched many records already; none of them may come before the offset of
	 * the seek.
	 */
	for (int round = 0; round < 5; round++) {
		assert_int_equal(kafka_consumer_seek(m.consumer, 0, 100 + round), OK);
		int64_t before = total(&m);
		while (total(&m) == before) {
			assert_true(backend_fixture_now_ms() < until_ms);
			poll_once(&m, 100);
		}
		assert_int_equal(m.last[0], 100 + round);
	}
	assert_int_equal(kafka_consumer_seek(m.consumer, 5, 0), ERR_NOT_FOUND);
	int64_t last = m.last[0];
	while (m.last[0] < 499) {
		assert_true(backend_fixture_now_ms() < until_ms);
		if (poll_once(&m, 100)) {
			assert_int_equal(m.last[0], last + 1);
			last++;
		}
	}
	kafka_consumer_free(m.consumer);
}

TEST_CASE(revokes_all_partitions_and_gets_them_again)
{
	const struct backend_fixture *f = *state;
	kafka_fixture_create_topic(f, 2);
	kafka_fixture_fill(f, "k", 10);
	struct member m = { .start = { KAFKA_CONSUMER_BEGINNING, KAFKA_CONSUMER_BEGINNING } };
	join(f, &m);
	poll_exactly(&m, 10);
	kafka_consumer_rejoin(m.consumer);
	poll_exactly(&m, 20);
	assert_int_equal(m.revoked, 1);
	assert_int_equal(m.lost, 0);
	assert_int_equal(m.asked, 2);
	kafka_consumer_free(m.consumer);
}

TEST_CASE(shares_the_partitions_with_a_second_member)
{
	const struct backend_fixture *f = *state;
	kafka_fixture_create_topic(f, 4);
	struct member a = { .start = { 0 } };
	struct member b = { .start = { 0 } };
	join(f, &a);
	int64_t until_ms = backend_fixture_now_ms() + TIMEOUT_MS;
	while (partitions_of(&a) < 4) {
		assert_true(backend_fixture_now_ms() < until_ms);
		poll_once(&a, 50);
	}
	join(f, &b);
	while (partitions_of(&a) != 2 || partitions_of(&b) != 2) {
		assert_true(backend_fixture_now_ms() < until_ms);
		poll_once(&a, 50);
		poll_once(&b, 50);
	}
	assert_int_equal(a.revoked, 1);
	for (int i = 0; i < 4; i++)
		assert_int_equal(a.has[i] + b.has[i], 1);
	kafka_consumer_free(b.consumer);
	while (partitions_of(&a) != 4) {
		assert_true(backend_fixture_now_ms() < until_ms);
		poll_once(&a, 50);
	}
	kafka_consumer_free(a.consumer);
	assert_int_equal(a.lost + b.lost, 0);
}

TEST_CASE(reports_its_lag)
{
	const struct backend_fixture *f = *state;
	kafka_fixture_create_topic(f, 1);
	kafka_fixture_fill(f, "k", 50);
	struct member m = { .start = { 0 } };
	join(f, &m);
	int64_t until_ms = backend_fixture_now_ms() + TIMEOUT_MS;
	while (total(&m) < 20) {
		assert_true(backend_fixture_now_ms() < until_ms);
		poll_once(&m, 100);
	}
	assert_int_equal(kafka_consumer_lag(m.consumer), 30);
	assert_int_equal(kafka_consumer_partition_lag(m.consumer, 0), 30);
	assert_int_equal(kafka_consumer_partition_lag(m.consumer, 1), KAFKA_CONSUMER_LAG_UNKNOWN);
	kafka_consumer_commit_offset(m.consumer, 0, 20);
	poll_exactly(&m, 50);
	assert_int_equal(kafka_consumer_lag(m.consumer), 0);
	assert_int_equal(kafka_consumer_partition_lag(m.consumer, 0), 0);
	kafka_consumer_free(m.consumer);
}

static void poll_until_lag_is(struct member *m, int64_t wanted, int64_t meanwhile)
{
	int64_t until_ms = backend_fixture_now_ms() + TIMEOUT_MS;
	int64_t lag;
	while ((lag = kafka_consumer_partition_lag(m->consumer, 0)) != wanted) {
		assert_int_equal(lag, meanwhile);
		assert_true(backend_fixture_now_ms() < until_ms);
		poll_once(m, 20);
	}
}

/* Uses librdkafka's mock cluster, which can delay responses. */
TEST_CASE(reports_no_lag_while_a_broker_is_overdue)
{
	enum { FETCH = 1, SILENT_MS = 2000, NEVER_MS = 600000 };
	struct backend_fixture *f = *state;
	char why[256];
	rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, NULL, why, sizeof(why));
	rd_kafka_mock_cluster_t *cluster = rd_kafka_mock_cluster_new(rk, 1);
	assert_non_null(cluster);
	assert_int_equal(rd_kafka_mock_topic_create(cluster, f->unique, 1, 1),
	                 RD_KAFKA_RESP_ERR_NO_ERROR);
	snprintf(f->kafka.brokers, sizeof(f->kafka.brokers), "%s",
	         rd_kafka_mock_cluster_bootstraps(cluster));
	rd_kafka_mock_broker_push_request_error_rtts(cluster, 1, FETCH, 1,
	                                             RD_KAFKA_RESP_ERR_NO_ERROR, SILENT_MS);
	struct member m = { .start = { 0 } };
	join(f, &m);
	int64_t until_ms = backend_fixture_now_ms() + TIMEOUT_MS;
	int64_t begun_ms = 0; /* before the poll that assigns, after which the fetch begins */
	while (!m.has[0]) {
		begun_ms = backend_fixture_now_ms();
		assert_true(begun_ms < until_ms);
		poll_once(&m, 20);
	}
	poll_until_lag_is(&m, 0, KAFKA_CONSUMER_LAG_UNKNOWN);
	assert_in_range(backend_fixture_now_ms() - begun_ms, SILENT_MS / 2, TIMEOUT_MS);
	/* The end known before may be out of date. */
	rd_kafka_mock_broker_push_request_error_rtts(cluster, 1, FETCH, 1,
	                                             RD_KAFKA_RESP_ERR_NO_ERROR, NEVER_MS);
	poll_until_lag_is(&m, KAFKA_CONSUMER_LAG_UNKNOWN, 0);
	assert_true(m.has[0]);
	rd_kafka_mock_cluster_destroy(cluster);
	kafka_consumer_free(m.consumer);
	rd_kafka_destroy(rk);
}

TEST_CASE(gives_back_partitions_that_the_next_poll_would_have_brought)
{
	const struct backend_fixture *f = *state;
	kafka_fixture_create_topic(f, 1);
	struct member m = { .start = { 0 } };
	join(f, &m);
	sleep(3); /* the group is complete by then, as a rule */
	kafka_consumer_free(m.consumer);
	assert_int_equal(m.revoked, m.asked);
}

TEST_CASE(waits_for_unreachable_brokers_and_closes_without_them)
{
	struct backend_fixture *f = *state;
	snprintf(f->kafka.brokers, sizeof(f->kafka.brokers), "127.0.0.1:1");
	struct member m = { .start = { 0 } };
	struct kafka_message message;
	join(f, &m);
	for (int i = 0; i < 20; i++)
		assert_int_equal(kafka_consumer_poll(m.consumer, 100, &message), ERR_UNAVAILABLE);
	assert_int_equal(backend_fixture_logged(f, "kafka_unreachable"), 1);
	int64_t begun_ms = backend_fixture_now_ms();
	kafka_consumer_free(m.consumer);
	test_speed_at_most(backend_fixture_now_ms() - begun_ms, 5000, "ms");
}

TEST_MAIN(.set_up = backend_fixture_set_up, .tear_down = backend_fixture_tear_down)
