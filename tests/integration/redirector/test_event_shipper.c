/* The way of events from the journal to a topic of the test's own. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "lib/base/mem.h"
#include "services/redirector/events/event_packer.h"
#include "services/redirector/events/event_shipper.h"
#include "tests/integration/kafka/kafka_fixture.h"
#include "tests/integration/redirector/event_reader.h"
#include "tests/support/test.h"
#include "tests/support/test_folder.h"

#define TIMEOUT_MS TEST_DEADLINE_MS
#define EVENTS_MAX 20000
#define SLUGS 40
#define PARTITIONS_MAX 5

struct fixture {
	struct backend_fixture *net;
	struct metrics *metrics;
	char journal_dir[TEST_FOLDER_SIZE];
	struct event_shipper *shipper;
	/* Events appended so far; each has its number as link_id. */
	int64_t count;
	struct event_read read[EVENTS_MAX];
};

static void start(struct fixture *f)
{
	assert_int_equal(
		event_shipper_new(&(struct event_shipper_config){ .kafka = &f->net->kafka,
	                                                          .topic = f->net->unique,
	                                                          .journal_dir = f->journal_dir,
	                                                          .bytes_max = 64 << 20,
	                                                          .clock = clock_system(),
	                                                          .log = f->net->log,
	                                                          .metrics = f->metrics },
	                          &f->shipper),
		OK);
}

static int set_up(void **state)
{
	struct fixture *f = mem_zero(sizeof(*f));
	backend_fixture_set_up((void **)&f->net);
	f->metrics = metrics_new();
	test_folder_make(f->journal_dir);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	event_shipper_free(f->shipper);
	metrics_free(f->metrics);
	test_folder_remove(f->journal_dir);
	backend_fixture_tear_down((void **)&f->net);
	free(f);
	return 0;
}

static struct redirect_event next_event(struct fixture *f, const char *slug)
{
	struct redirect_event event = { .occurred_at_us = 1,
		                        .link_id = ++f->count,
		                        .link_version = 1,
		                        .status = 302,
		                        .method = REDIRECT_METHOD_GET };
	snprintf(event.slug, sizeof(event.slug), "%s", slug);
	return event;
}

static void append(struct fixture *f, const char *slug)
{
	struct redirect_event event = next_event(f, slug);
	event_shipper_append(f->shipper, &event);
}

/* A text that compression does not make much smaller. */
static void fill_text(char *text, size_t size)
{
	entropy_text("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", text,
	             size - 1);
}

static void append_long(struct fixture *f, const char *slug)
{
	struct redirect_event event = next_event(f, slug);
	fill_text(event.user_agent, sizeof(event.user_agent));
	event_shipper_append(f->shipper, &event);
}

static void flush(struct fixture *f)
{
	assert_int_equal(event_shipper_flush(f->shipper, TIMEOUT_MS), OK);
}

/* All that were appended but lost. Returns the number of batches. */
static size_t read_all(struct fixture *f, int64_t lost)
{
	size_t count = (size_t)(f->count - lost);
	assert_true(f->count < EVENTS_MAX);
	event_reader_read(&(struct event_reader){ .kafka = &f->net->kafka,
	                                          .topic = f->net->unique,
	                                          .log = f->net->log },
	                  f->read, count);
	bool *has_come = mem_array((size_t)f->count + 1, sizeof(*has_come));
	for (size_t i = 0; i < count; i++) {
		assert_in_range(f->read[i].event.link_id, 1, f->count);
		assert_false(has_come[f->read[i].event.link_id]);
		has_come[f->read[i].event.link_id] = true;
	}
	free(has_come);
	return f->read[count - 1].batch;
}

static void assert_shipped(struct fixture *f, int64_t dropped)
{
	struct event_shipper_counts counts = event_shipper_count(f->shipper);
	assert_int_equal(counts.acked, f->count - dropped);
	assert_int_equal(counts.dropped, dropped);
	assert_int_equal(counts.queued, 0);
}

static bool says_partitions_are_unknown(void *ctx)
{
	const struct fixture *f = ctx;
	return backend_fixture_logged(f->net, "kafka_partitions_unknown") > 0;
}

TEST_CASE(events_wait_for_a_topic_that_does_not_exist_yet)
{
	struct fixture *f = *state;
	start(f);
	for (int i = 0; i < 100; i++)
		append(f, "early");
	backend_fixture_wait(says_partitions_are_unknown, f, TIMEOUT_MS);
	assert_int_equal(event_shipper_count(f->shipper).queued, 100);
	kafka_fixture_create_topic(f->net, 3);
	flush(f);
	assert_shipped(f, 0);
	/* What waited in the journal is packed. */
	assert_int_equal(read_all(f, 0), 1);
}

TEST_CASE(events_wait_for_kafka_that_is_away_at_the_start)
{
	struct fixture *f = *state;
	struct kafka_config direct = f->net->kafka;
	struct tcp_proxy *proxy =
		backend_fixture_proxy(f->net->kafka.brokers, sizeof(f->net->kafka.brokers));
	tcp_proxy_set_mode(proxy, TCP_PROXY_REFUSE);
	start(f);
	f->net->kafka = direct;
	kafka_fixture_create_topic(f->net, 2);
	for (int i = 0; i < 100; i++)
		append(f, "early");
	backend_fixture_wait(says_partitions_are_unknown, f, TIMEOUT_MS);
	assert_int_equal(event_shipper_count(f->shipper).queued, 100);
	tcp_proxy_set_mode(proxy, TCP_PROXY_FORWARD);
	flush(f);
	assert_shipped(f, 0);
	read_all(f, 0);
	/* It borrows the address. */
	event_shipper_free(f->shipper);
	f->shipper = NULL;
	tcp_proxy_free(proxy);
}

TEST_CASE(a_busy_redirector_sends_few_records)
{
	struct fixture *f = *state;
	kafka_fixture_create_topic(f->net, 2);
	start(f);
	for (int i = 0; i < 5000; i++) {
		char slug[SLUG_SIZE];
		snprintf(slug, sizeof(slug), "busy-%d", i % SLUGS);
		append(f, slug);
	}
	flush(f);
	assert_shipped(f, 0);
	assert_in_range(read_all(f, 0), 1, 500);
	for (int64_t i = 0; i < f->count; i++) {
		const struct event_read *read = &f->read[i];
		assert_int_equal(read->partition,
		                 XXH3_64bits(read->event.slug, strlen(read->event.slug)) % 2);
	}
}

TEST_CASE(a_topic_of_small_records_gets_every_event)
{
	struct fixture *f = *state;
	assert_int_equal(kafka_fixture_try_topic(f->net, "max.message.bytes", "3000"),
	                 ERR_CONFLICT);
	start(f);
	for (int i = 0; i < 1000; i++)
		append_long(f, i % 2 ? "one" : "two");
	flush(f);
	assert_shipped(f, 0);
	read_all(f, 0);
}

TEST_CASE(an_event_that_is_too_large_is_dropped_and_its_neighbours_arrive)
{
	struct fixture *f = *state;
	assert_int_equal(kafka_fixture_try_topic(f->net, "max.message.bytes", "1000"),
	                 ERR_CONFLICT);
	start(f);
	for (int i = 0; i < 100; i++)
		append(f, "neighbour");
	struct redirect_event event = next_event(f, "neighbour");
	fill_text(event.user_agent, sizeof(event.user_agent));
	fill_text(event.query, sizeof(event.query));
	event_shipper_append(f->shipper, &event);
	for (int i = 0; i < 100; i++)
		append(f, "neighbour");
	flush(f);
	assert_shipped(f, 1);
	read_all(f, 1);
	for (int64_t i = 0; i < f->count - 1; i++)
		assert_int_not_equal(f->read[i].event.link_id, 101);
	assert_int_equal(event_shipper_dropped_lately(f->shipper), 1);
	assert_int_equal(backend_fixture_logged(f->net, "\"events_dropped\""), 1);
}

/* The records of one partition so far. */
static int64_t records_in(struct kafka_producer *p, const char *topic, int32_t partition)
{
	int64_t ends[PARTITIONS_MAX] = { 0 };
	int32_t count = 0;
	if (kafka_producer_query_ends(p, topic, TIMEOUT_MS, ends, PARTITIONS_MAX, &count) != OK)
		return 0;
	return partition < count ? ends[partition] : 0;
}

static void append_round(struct fixture *f)
{
	for (int i = 0; i < SLUGS; i++) {
		char slug[SLUG_SIZE];
		snprintf(slug, sizeof(slug), "slug-%d", i);
		append(f, slug);
	}
}

/* A slug's events are in order within its old partition, and then within its new one. */
static void assert_order(struct fixture *f, const char *slug)
{
	int64_t last[PARTITIONS_MAX] = { 0 }, first[PARTITIONS_MAX] = { 0 };
	uint64_t hash = XXH3_64bits(slug, strlen(slug));
	size_t before = hash % 2, after = hash % PARTITIONS_MAX;
	for (int64_t i = 0; i < f->count; i++) {
		const struct event_read *read = &f->read[i];
		if (strcmp(read->event.slug, slug) != 0)
			continue;
		assert_true((size_t)read->partition == before || (size_t)read->partition == after);
		assert_true(read->event.link_id > last[read->partition]);
		last[read->partition] = read->event.link_id;
		if (first[read->partition] == 0)
			first[read->partition] = read->event.link_id;
	}
	assert_true(before == after || last[before] < first[after]);
}

TEST_CASE(partitions_that_are_added_get_events_and_each_slug_keeps_its_order)
{
	struct fixture *f = *state;
	struct kafka_producer *observer = NULL;
	kafka_fixture_create_topic(f->net, 2);
	start(f);
	assert_int_equal(
		kafka_producer_new(&(struct kafka_producer_config){ .kafka = &f->net->kafka,
	                                                            .log = f->net->log },
	                           &observer),
		OK);
	append_round(f);
	flush(f);
	kafka_fixture_add_partitions(f->net, PARTITIONS_MAX);
	int64_t begun_ms = backend_fixture_now_ms();
	while (records_in(observer, f->net->unique, PARTITIONS_MAX - 1) == 0) {
		assert_true(backend_fixture_now_ms() - begun_ms < TIMEOUT_MS);
		append_round(f);
		poll(NULL, 0, 50);
	}
	test_speed_at_most(backend_fixture_now_ms() - begun_ms, 11000, "ms");
	append_round(f);
	flush(f);
	assert_shipped(f, 0);
	read_all(f, 0);
	for (int i = 0; i < SLUGS; i++) {
		char slug[SLUG_SIZE];
		snprintf(slug, sizeof(slug), "slug-%d", i);
		assert_order(f, slug);
	}
	/* The producer knew the new partitions as soon as the shipper did. */
	assert_int_equal(backend_fixture_logged(f->net, "kafka_producer_restarted"), 0);
	kafka_producer_free(observer);
}

/* Its partitions are fewer than those that wait. */
TEST_CASE(a_topic_that_is_created_again_gets_the_events_that_waited)
{
	struct fixture *f = *state;
	kafka_fixture_create_topic(f->net, PARTITIONS_MAX);
	start(f);
	append_round(f);
	flush(f);
	kafka_fixture_delete_topic(f->net);
	for (int i = 0; i < 5; i++)
		append_round(f);
	kafka_fixture_create_topic(f->net, 1);
	append_round(f);
	flush(f);
	assert_shipped(f, 0);
}

TEST_CASE(an_idle_redirector_sends_a_click_at_once)
{
	enum { CLICKS = 20 };
	struct fixture *f = *state;
	int64_t waited_us = 0;
	kafka_fixture_create_topic(f->net, 1);
	start(f);
	append(f, "idle");
	flush(f);
	for (int i = 0; i < CLICKS; i++) {
		poll(NULL, 0, 2 * EVENT_PACKER_LINGER_MS);
		int64_t begun_us = clock_steady_us(clock_system());
		append(f, "idle");
		while (event_shipper_count(f->shipper).queued > 0)
			poll(NULL, 0, 1);
		waited_us += clock_steady_us(clock_system()) - begun_us;
	}
	test_speed_at_most((double)waited_us / CLICKS / CLOCK_US_PER_MS, 50, "ms");
}

TEST_MAIN(.set_up = set_up, .tear_down = tear_down)
