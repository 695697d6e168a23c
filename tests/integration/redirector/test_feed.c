#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <poll.h>
#include <pthread.h>

#include "lib/base/mem.h"
#include "lib/links/feed_mark.h"
#include "lib/links/link_event.h"
#include "lib/net/kafka_producer.h"
#include "tests/integration/net/kafka_fixture.h"
#include "tests/integration/redirector/fixture.h"

#define FROM_MEMORY "waymark_link_lookups_total{level=\"memory\"}"
#define FROM_REDIS "waymark_link_lookups_total{level=\"redis\"}"
#define FROM_POSTGRES "waymark_link_lookups_total{level=\"postgres\"}"
#define FROM_FILTER "waymark_link_lookups_total{level=\"filter\"}"
#define IS_FRESH "waymark_feed_is_fresh"
#define FILTER_COMPLETE "waymark_slug_filter_is_complete"

#define PARTITIONS 2
#define MARK_MS 50
#define PATIENCE_MS 15000

/* A f, a topic of its own, and in the relay's place somebody who marks it. */
struct scene {
	struct fixture *fixture;
	struct net_fixture *net;
	struct kafka_producer *producer;
	pthread_t marker;
	atomic_bool ends;
	atomic_bool is_silent;
};

static void *keep_marking(void *arg)
{
	struct scene *s = arg;
	while (!atomic_load(&s->ends)) {
		for (int32_t p = 0; p < PARTITIONS && !atomic_load(&s->is_silent); p++) {
			struct feed_mark mark = { clock_now_us(clock_system()), 0, PARTITIONS };
			struct feed_mark_texts texts = { 0 };
			struct kafka_record record;
			feed_mark_write(&mark, p, "/test", &texts, &record);
			record.topic = s->net->unique;
			/* A full queue makes a mark less. */
			enum err e = kafka_producer_send(s->producer, &record);
			(void)e;
		}
		poll(NULL, 0, MARK_MS);
	}
	return NULL;
}

static int set_up(void **state)
{
	struct scene *s = mem_zero(sizeof(*s));
	void *part;
	s->fixture = *state;
	net_fixture_set_up(&part);
	s->net = part;
	part = s->fixture;
	fixture_set_up(&part);
	kafka_fixture_make_topic(s->net, PARTITIONS);
	snprintf(s->fixture->config.link_feed_topic, sizeof(s->fixture->config.link_feed_topic), "%s", s->net->unique);
	const struct kafka_producer_config config = {
		.kafka = &s->net->kafka, .queue_max = 1000, .queue_bytes_max = 10 << 20, .log = s->net->log
	};
	assert_int_equal(kafka_producer_new(&config, &s->producer), OK);
	pthread_create(&s->marker, NULL, keep_marking, s);
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *s = *state;
	struct fixture *f = s->fixture;
	void *part = f;
	atomic_store(&s->ends, true);
	pthread_join(s->marker, NULL);
	kafka_producer_free(s->producer);
	fixture_tear_down(&part);
	part = s->net;
	net_fixture_tear_down(&part);
	free(s);
	*state = f;
	return 0;
}

/* A change as the relay would tell it, which is in PostgreSQL already or does not matter there. */
static void tell(struct scene *s, const char *name, int64_t version, const char *destination)
{
	struct link_event *event = mem_zero(sizeof(*event));
	*event = (struct link_event){ .occurred_at_us = 1, .change = LINK_CHANGE_UPDATED };
	event->link =
		(struct link){ .type = LINK_TYPE_PERMANENT, .owner_id = 1, .created_at_us = 1, .updated_at_us = 1 };
	event->link.entry =
		(struct link_entry){ .id = 1, .version = version, .state = LINK_STATE_ACTIVE, .redirect_status = 302 };
	const char *slug = fixture_slug(s->fixture, name, event->link.entry.slug);
	snprintf(event->link.entry.original_url, LINK_URL_SIZE, "https://example.com/%s", destination);
	struct strbuf bytes;
	strbuf_init(&bytes, LINK_EVENT_BYTES_MAX);
	link_event_encode(event, &bytes);
	const struct kafka_record record = { .topic = s->net->unique,
		                             .key = slug,
		                             .key_len = strlen(slug),
		                             .value = bytes.data,
		                             .value_len = bytes.len };
	assert_int_equal(kafka_producer_send(s->producer, &record), OK);
	assert_int_equal(kafka_producer_flush(s->producer, PATIENCE_MS), OK);
	strbuf_clear(&bytes);
	free(event);
}

static void assert_leads(struct fixture *f, const char *name, const char *destination)
{
	assert_int_equal(fixture_get_link(f, name, ""), 302);
	fixture_assert_header(f, "Location", destination);
}

static bool leads(struct fixture *f, const char *name, const char *destination)
{
	char found[4096];
	return fixture_get_link(f, name, "") == 302 &&
	       strcmp(http_fixture_header(&f->answer, "Location", found, sizeof(found)), destination) == 0;
}

static void await(struct fixture *f, const char *series, double wanted)
{
	int64_t until_ms = http_fixture_now_ms() + PATIENCE_MS;
	while (fixture_metric(f, series) != wanted)
		assert_true(http_fixture_now_ms() < until_ms);
}

static void memory_answers_beyond_its_time_and_takes_changes(void **state)
{
	struct scene *s = *state;
	fixture_add_link(s->fixture, "followed");
	fixture_start(s->fixture);
	await(s->fixture, IS_FRESH, 1);
	for (int i = 0; i < 3; i++)
		assert_leads(s->fixture, "followed", "https://example.com/followed");
	assert_int_equal(fixture_metric(s->fixture, FROM_POSTGRES), 1);
	assert_int_equal(fixture_metric(s->fixture, FROM_MEMORY), 2);
	tell(s, "followed", 2, "changed");
	int64_t until_ms = http_fixture_now_ms() + PATIENCE_MS;
	while (!leads(s->fixture, "followed", "https://example.com/changed"))
		assert_true(http_fixture_now_ms() < until_ms);
	assert_int_equal(fixture_metric(s->fixture, FROM_POSTGRES), 1);
	assert_int_equal(fixture_metric(s->fixture, FROM_REDIS), 0);
	assert_int_equal(fixture_metric(s->fixture, "waymark_feed_events_total"), 1);
	assert_true(fixture_metric(s->fixture, "waymark_feed_lag_seconds") < 1);
}

static void memory_goes_by_time_again_when_the_marks_end(void **state)
{
	struct scene *s = *state;
	fixture_add_link(s->fixture, "alone");
	fixture_start(s->fixture);
	await(s->fixture, IS_FRESH, 1);
	assert_leads(s->fixture, "alone", "https://example.com/alone");
	atomic_store(&s->is_silent, true);
	await(s->fixture, IS_FRESH, 0);
	double asked = fixture_metric(s->fixture, FROM_REDIS);
	assert_leads(s->fixture, "alone", "https://example.com/alone");
	assert_leads(s->fixture, "alone", "https://example.com/alone");
	assert_int_equal(fixture_metric(s->fixture, FROM_REDIS), asked + 2);
	atomic_store(&s->is_silent, false);
	await(s->fixture, IS_FRESH, 1);
	assert_leads(s->fixture, "alone", "https://example.com/alone");
	assert_int_equal(fixture_metric(s->fixture, FROM_REDIS), asked + 2);
}

static void is_ready_and_leads_without_kafka(void **state)
{
	struct scene *s = *state;
	snprintf(s->fixture->config.kafka.brokers, sizeof(s->fixture->config.kafka.brokers), FIXTURE_UNREACHABLE_KAFKA);
	fixture_add_link(s->fixture, "nokafka");
	fixture_start(s->fixture);
	fixture_await_ready(s->fixture, true);
	assert_leads(s->fixture, "nokafka", "https://example.com/nokafka");
	assert_int_equal(fixture_metric(s->fixture, IS_FRESH), 0);
	assert_int_equal(fixture_metric(s->fixture, FILTER_COMPLETE), 0);
}

static void entries_live_five_seconds_without_kafka_and_redis(void **state)
{
	struct scene *s = *state;
	snprintf(s->fixture->config.kafka.brokers, sizeof(s->fixture->config.kafka.brokers), FIXTURE_UNREACHABLE_KAFKA);
	snprintf(s->fixture->config.redis_url, sizeof(s->fixture->config.redis_url), FIXTURE_UNREACHABLE_REDIS);
	s->fixture->config.memory_ttl_ms = 1000;
	fixture_add_link(s->fixture, "lonely");
	fixture_start(s->fixture);
	await(s->fixture, "waymark_memory_cache_ttl_seconds", 5);
	assert_leads(s->fixture, "lonely", "https://example.com/lonely");
	int64_t began_ms = http_fixture_now_ms();
	while (fixture_metric(s->fixture, FROM_POSTGRES) < 2) {
		assert_leads(s->fixture, "lonely", "https://example.com/lonely");
		assert_true(http_fixture_now_ms() - began_ms < PATIENCE_MS);
	}
	assert_in_range(http_fixture_now_ms() - began_ms, 4000, 7000);
}

static void denies_invented_slugs_without_postgresql_once_the_filter_is_complete(void **state)
{
	struct scene *s = *state;
	s->fixture->config.unknown_queries_per_second = 0;
	fixture_add_link(s->fixture, "issued");
	fixture_start(s->fixture);
	await(s->fixture, FILTER_COMPLETE, 1);
	static const char *const invented[] = { "invented", "invented-1", "invented-2" };
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(fixture_get_link(s->fixture, invented[i], ""), 404);
	assert_int_equal(fixture_metric(s->fixture, FROM_FILTER), 3);
	assert_int_equal(fixture_metric(s->fixture, FROM_POSTGRES), 0);
	assert_leads(s->fixture, "issued", "https://example.com/issued");
	/* Issued a moment ago: its event is on the topic before anybody could say that its time has come. */
	fixture_add_link(s->fixture, "invented");
	tell(s, "invented", 1, "invented");
	assert_leads(s->fixture, "invented", "https://example.com/invented");
}

static void lets_redis_deny_what_is_asked_for_again_until_it_is_created(void **state)
{
	struct scene *s = *state;
	s->fixture->config.unknown_queries_per_second = 0;
	fixture_start(s->fixture);
	await(s->fixture, FILTER_COMPLETE, 1);
	await(s->fixture, "waymark_link_cache_trusted", 1);
	int64_t until_ms = http_fixture_now_ms() + PATIENCE_MS;
	while (fixture_metric(s->fixture, FROM_REDIS) == 0) {
		assert_int_equal(fixture_get_link(s->fixture, "popular", ""), 404);
		assert_true(http_fixture_now_ms() < until_ms);
	}
	assert_true(fixture_metric(s->fixture, FROM_FILTER) >= 2);
	assert_int_equal(fixture_metric(s->fixture, FROM_POSTGRES), 0);
	struct link_entry entry;
	assert_int_equal(fixture_read_redis(s->fixture, "popular", &entry), LINK_CACHE_UNKNOWN);
	fixture_add_link(s->fixture, "popular");
	tell(s, "popular", 1, "popular");
	fixture_fill_redis(s->fixture, "popular", 1, "popular");
	assert_leads(s->fixture, "popular", "https://example.com/popular");
}

static void asks_postgresql_about_some_unknown_slugs_for_the_sake_of_speed(void **state)
{
	struct scene *s = *state;
	s->fixture->config.unknown_queries_per_second = 1000;
	fixture_start(s->fixture);
	await(s->fixture, FILTER_COMPLETE, 1);
	assert_int_equal(fixture_get_link(s->fixture, "mistyped", ""), 404);
	assert_int_equal(fixture_metric(s->fixture, FROM_FILTER), 0);
	assert_int_equal(fixture_metric(s->fixture, FROM_POSTGRES), 1);
}

static void asks_postgresql_when_the_filter_is_too_small(void **state)
{
	struct scene *s = *state;
	s->fixture->config.slug_bloom_filter_slugs = 1000;
	s->fixture->config.unknown_queries_per_second = 0;
	test_database_run(
		s->fixture->database,
		"INSERT INTO links (slug, link_type, original_url, expires_at) SELECT 'many-' || n, "
		"'TEMPORARY', 'https://example.com/', now() + interval '8 hours' FROM generate_series(1, 1200) n");
	fixture_start(s->fixture);
	await(s->fixture, "waymark_slug_filter_is_overfull", 1);
	assert_int_equal(fixture_metric(s->fixture, FILTER_COMPLETE), 0);
	assert_int_equal(fixture_get_link(s->fixture, "invented-too", ""), 404);
	assert_int_equal(fixture_metric(s->fixture, FROM_POSTGRES), 1);
	test_database_run(s->fixture->database, "DELETE FROM links WHERE slug LIKE 'many-%'");
}

static void hears_of_links_that_came_past_the_api(void **state)
{
	struct scene *s = *state;
	s->fixture->config.unknown_queries_per_second = 0;
	fixture_start(s->fixture);
	await(s->fixture, FILTER_COMPLETE, 1);
	fixture_add_link(s->fixture, "import");
	int64_t until_ms = http_fixture_now_ms() + PATIENCE_MS;
	while (!leads(s->fixture, "import", "https://example.com/import"))
		assert_true(http_fixture_now_ms() < until_ms);
}

static void puts_a_change_right_in_redis_that_its_own_fill_may_have_hidden(void **state)
{
	struct scene *s = *state;
	fixture_add_link(s->fixture, "filled");
	fixture_start(s->fixture);
	await(s->fixture, IS_FRESH, 1);
	assert_leads(s->fixture, "filled", "https://example.com/filled");
	tell(s, "filled", 2, "repaired");
	await(s->fixture, "waymark_feed_repairs_total", 1);
	struct link_entry entry;
	assert_int_equal(fixture_read_redis(s->fixture, "filled", &entry), LINK_CACHE_ENTRY);
	assert_int_equal(entry.version, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(memory_answers_beyond_its_time_and_takes_changes),
		TEST(memory_goes_by_time_again_when_the_marks_end),
		TEST(is_ready_and_leads_without_kafka),
		TEST(entries_live_five_seconds_without_kafka_and_redis),
		TEST(denies_invented_slugs_without_postgresql_once_the_filter_is_complete),
		TEST(lets_redis_deny_what_is_asked_for_again_until_it_is_created),
		TEST(asks_postgresql_about_some_unknown_slugs_for_the_sake_of_speed),
		TEST(asks_postgresql_when_the_filter_is_too_small),
		TEST(hears_of_links_that_came_past_the_api),
		TEST(puts_a_change_right_in_redis_that_its_own_fill_may_have_hidden),
	};
	return cmocka_run_group_tests(tests, fixture_group_set_up, fixture_group_tear_down);
}
