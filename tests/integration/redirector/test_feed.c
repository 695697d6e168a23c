#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/kafka/kafka_producer.h"
#include "lib/links/link_event.h"
#include "lib/links/watermark.h"
#include "tests/integration/kafka/kafka_fixture.h"
#include "tests/integration/redirector/fixture.h"
#include "tests/support/test.h"

#define FROM_MEMORY "waymark_link_lookups_total{level=\"memory\"}"
#define FROM_REDIS "waymark_link_lookups_total{level=\"redis\"}"
#define FROM_POSTGRES "waymark_link_lookups_total{level=\"postgres\"}"
#define FROM_FILTER "waymark_link_lookups_total{level=\"bloom_filter\"}"
#define IS_FRESH "waymark_feed_is_fresh"
#define FILTER_COMPLETE "waymark_slug_bloom_filter_is_complete"

#define PARTITIONS 2
#define WATERMARK_MS 50
#define TIMEOUT_MS TEST_DEADLINE_MS
#define REPAIR_MS 5000
/* A busy machine delays a watermark by more than the 700 ms of production. */
#define FRESH_US (60 * CLOCK_US_PER_S)
#define SHORT_FRESH_US (3 * CLOCK_US_PER_S)

/* A fixture with its own topics. A thread writes watermarks in place of the relay. */
struct feed_fixture {
	struct fixture *fixture;
	struct backend_fixture *net;
	/* Names the topic. */
	struct backend_fixture watermarks;
	struct kafka_producer *producer;
	pthread_t watermark_thread;
	_Atomic bool is_stopping;
	_Atomic bool is_paused;
	/* In the next watermark. */
	_Atomic bool shows_a_new_topic;
};

/* Everything that the test published before this reading of the clock stands below the ends. */
static void write_watermark(struct feed_fixture *s)
{
	struct watermark mark = { .as_of_us = clock_now_us(clock_system()) };
	int64_t ends[PARTITIONS];
	uint8_t bytes[WATERMARK_BYTES_MAX];
	if (kafka_producer_query_ends(s->producer, s->net->unique, TIMEOUT_MS, ends, PARTITIONS,
	                              &mark.partitions) != OK)
		return;
	bool is_new = atomic_exchange(&s->shows_a_new_topic, false);
	for (int32_t p = 0; p < PARTITIONS; p++)
		mark.partition[p] = (struct watermark_partition){ ends[p], is_new ? 0 : ends[p] };
	const struct kafka_record record = { .topic = s->watermarks.unique,
		                             .value = bytes,
		                             .value_len = watermark_encode(&mark, bytes) };
	/* A full queue skips a watermark. */
	enum err err = kafka_producer_send(s->producer, &record);
	(void)err;
}

static void *write_watermarks(void *arg)
{
	struct feed_fixture *s = arg;
	while (!atomic_load(&s->is_stopping)) {
		if (!atomic_load(&s->is_paused))
			write_watermark(s);
		poll(NULL, 0, WATERMARK_MS);
	}
	return NULL;
}

static int set_up(void **state)
{
	struct feed_fixture *s = mem_zero(sizeof(*s));
	void *part;
	s->fixture = *state;
	backend_fixture_set_up(&part);
	s->net = part;
	part = s->fixture;
	fixture_set_up(&part);
	kafka_fixture_create_topic(s->net, PARTITIONS);
	snprintf(s->fixture->config.link_feed_topic, sizeof(s->fixture->config.link_feed_topic),
	         "%s", s->net->unique);
	s->watermarks = *s->net;
	snprintf(s->watermarks.unique, sizeof(s->watermarks.unique), "%.40s.w", s->net->unique);
	kafka_fixture_create_topic(&s->watermarks, 1);
	snprintf(s->fixture->config.link_watermark_topic,
	         sizeof(s->fixture->config.link_watermark_topic), "%s", s->watermarks.unique);
	s->fixture->config.feed_fresh_us = FRESH_US;
	const struct kafka_producer_config config = { .kafka = &s->net->kafka,
		                                      .queue_max = 1000,
		                                      .queue_bytes_max = 10 << 20,
		                                      .log = s->net->log };
	assert_int_equal(kafka_producer_new(&config, &s->producer), OK);
	pthread_create(&s->watermark_thread, NULL, write_watermarks, s);
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct feed_fixture *s = *state;
	struct fixture *f = s->fixture;
	void *part = f;
	atomic_store(&s->is_stopping, true);
	pthread_join(s->watermark_thread, NULL);
	kafka_producer_free(s->producer);
	fixture_tear_down(&part);
	part = s->net;
	backend_fixture_tear_down(&part);
	free(s);
	*state = f;
	return 0;
}

static void publish_event(struct feed_fixture *s, const char *name, int64_t version,
                          const char *destination, bool has_extras)
{
	struct link_event *event = mem_zero(sizeof(*event));
	*event = (struct link_event){ .occurred_at_us = 1, .change = LINK_CHANGE_UPDATED };
	event->link = (struct link){ .type = LINK_TYPE_PERMANENT,
		                     .workspace_id = 1,
		                     .created_at_us = 1,
		                     .updated_at_us = 1 };
	event->link.entry = (struct link_entry){
		.id = 1,
		.version = version,
		.state = LINK_STATE_ACTIVE,
		.redirect_status = 302,
		.lacks_extras = has_extras,
	};
	const char *slug = fixture_slug(s->fixture, name, event->link.entry.slug);
	snprintf(event->link.entry.original_url, LINK_URL_SIZE, "https://example.com/%s",
	         destination);
	struct strbuf bytes;
	strbuf_init(&bytes, LINK_EVENT_BYTES_MAX);
	link_event_encode(event, &bytes);
	const struct kafka_record record = { .topic = s->net->unique,
		                             .key = slug,
		                             .key_len = strlen(slug),
		                             .value = bytes.data,
		                             .value_len = bytes.len };
	assert_int_equal(kafka_producer_send(s->producer, &record), OK);
	assert_int_equal(kafka_producer_flush(s->producer, TIMEOUT_MS), OK);
	strbuf_clear(&bytes);
	free(event);
}

/* Publishes a change like the relay. PostgreSQL is changed by the test, if at all. */
static void publish(struct feed_fixture *s, const char *name, int64_t version,
                    const char *destination)
{
	publish_event(s, name, version, destination, false);
}

/* As publish, of a link with extras. */
static void publish_without_extras(struct feed_fixture *s, const char *name, int64_t version)
{
	publish_event(s, name, version, "original", true);
}

static void assert_redirects(struct fixture *f, const char *name, const char *destination)
{
	assert_int_equal(fixture_get_link(f, name, ""), 302);
	fixture_assert_header(f, "Location", destination);
}

static bool redirects(struct fixture *f, const char *name, const char *destination)
{
	char found[4096];
	return fixture_get_link(f, name, "") == 302 &&
	       strcmp(http_fixture_header(&f->answer, "Location", found, sizeof(found)),
	              destination) == 0;
}

static void await(struct fixture *f, const char *series, double wanted)
{
	int64_t until_ms = http_fixture_now_ms() + TIMEOUT_MS;
	while (fixture_metric(f, series) != wanted) {
		if (http_fixture_now_ms() >= until_ms)
			fail_msg("%s is %g, not %g", series, fixture_metric(f, series), wanted);
		test_pause();
	}
}

TEST_CASE(memory_outlives_its_ttl_and_applies_changes)
{
	struct feed_fixture *s = *state;
	fixture_add_link(s->fixture, "followed");
	fixture_start(s->fixture);
	await(s->fixture, IS_FRESH, 1);
	for (int i = 0; i < 3; i++)
		assert_redirects(s->fixture, "followed", "https://example.com/followed");
	assert_int_equal(fixture_metric(s->fixture, FROM_POSTGRES), 1);
	assert_int_equal(fixture_metric(s->fixture, FROM_MEMORY), 2);
	publish(s, "followed", 2, "changed");
	int64_t until_ms = http_fixture_now_ms() + TIMEOUT_MS;
	while (!redirects(s->fixture, "followed", "https://example.com/changed")) {
		assert_true(http_fixture_now_ms() < until_ms);
		test_pause();
	}
	assert_int_equal(fixture_metric(s->fixture, FROM_POSTGRES), 1);
	assert_int_equal(fixture_metric(s->fixture, FROM_REDIS), 0);
	assert_int_equal(fixture_metric(s->fixture, "waymark_feed_events_total"), 1);
	until_ms = http_fixture_now_ms() + TIMEOUT_MS;
	while (fixture_metric(s->fixture, "waymark_feed_lag_seconds") >= 1) {
		assert_true(http_fixture_now_ms() < until_ms);
		test_pause();
	}
}

/* A change that the event only names is read from PostgreSQL, and memory answers with it from then on. */
TEST_CASE(memory_follows_the_changes_of_a_link_with_extras)
{
	struct feed_fixture *s = *state;
	struct fixture *f = s->fixture;
	fixture_slow_clock(f);
	fixture_add_link(f, "rich");
	/* forward_query */
	fixture_change_link(f, "rich", "extras = '\\x2001', features = 16");
	fixture_start(f);
	await(f, IS_FRESH, 1);
	for (int i = 0; i < 3; i++)
		assert_redirects(f, "rich", "https://example.com/rich");
	assert_int_equal(fixture_metric(f, FROM_MEMORY), 2);
	fixture_change_link(f, "rich", "original_url = 'https://example.com/changed'");
	publish_without_extras(s, "rich", 3);
	await(f, "waymark_feed_events_total", 1);
	for (int i = 0; i < 3; i++)
		assert_redirects(f, "rich", "https://example.com/changed");
	assert_int_equal(fixture_metric(f, FROM_POSTGRES), 2);
	assert_int_equal(fixture_metric(f, FROM_MEMORY), 4);
	/* No store has that version, as after a failover that lost it. */
	publish_without_extras(s, "rich", 9);
	await(f, "waymark_feed_events_total", 2);
	assert_int_equal(fixture_get_link(f, "rich", ""), 503);
}

/* Its destination may be behind a password. */
TEST_CASE(memory_answers_nothing_about_a_link_whose_extras_no_store_can_give)
{
	struct feed_fixture *s = *state;
	struct fixture *f = s->fixture;
	snprintf(f->config.pg_url, sizeof(f->config.pg_url), FIXTURE_UNREACHABLE_PG);
	f->config.memory_ttl_ms = 60000;
	fixture_slow_clock(f);
	fixture_fill_redis(f, "plain", 1, "before");
	fixture_fill_redis(f, "secret", 1, "before");
	fixture_start(f);
	await(f, IS_FRESH, 1);
	assert_redirects(f, "plain", "https://example.com/before");
	assert_redirects(f, "secret", "https://example.com/before");
	publish(s, "plain", 2, "after");
	publish_without_extras(s, "secret", 2);
	await(f, "waymark_feed_events_total", 2);
	fixture_delete_from_redis(f, "plain");
	fixture_delete_from_redis(f, "secret");
	assert_redirects(f, "plain", "https://example.com/after");
	assert_int_equal(fixture_get_link(f, "secret", ""), 503);
	/* Nor does an older version that comes back to Redis. */
	fixture_fill_redis(f, "secret", 1, "before");
	assert_int_equal(fixture_get_link(f, "secret", ""), 503);
	fixture_fill_redis(f, "secret", 2, "after");
	assert_redirects(f, "secret", "https://example.com/after");
}

TEST_CASE(the_ttl_applies_again_when_the_watermarks_stop)
{
	struct feed_fixture *s = *state;
	fixture_slow_clock(s->fixture);
	s->fixture->config.feed_fresh_us = SHORT_FRESH_US / FIXTURE_SLOWNESS;
	fixture_add_link(s->fixture, "paused");
	fixture_start(s->fixture);
	await(s->fixture, IS_FRESH, 1);
	assert_redirects(s->fixture, "paused", "https://example.com/paused");
	atomic_store(&s->is_paused, true);
	await(s->fixture, IS_FRESH, 0);
	double queried = fixture_metric(s->fixture, FROM_REDIS);
	assert_redirects(s->fixture, "paused", "https://example.com/paused");
	assert_redirects(s->fixture, "paused", "https://example.com/paused");
	assert_int_equal(fixture_metric(s->fixture, FROM_REDIS), queried + 2);
	atomic_store(&s->is_paused, false);
	/* A late watermark may let memory expire once more, so the first answer may not be from it. */
	int64_t until_ms = http_fixture_now_ms() + TIMEOUT_MS;
	do {
		assert_true(http_fixture_now_ms() < until_ms);
		await(s->fixture, IS_FRESH, 1);
		queried = fixture_metric(s->fixture, FROM_REDIS);
		assert_redirects(s->fixture, "paused", "https://example.com/paused");
	} while (fixture_metric(s->fixture, FROM_REDIS) > queried);
}

TEST_CASE(tracks_nothing_that_it_read_before_the_topic_was_created_again)
{
	struct feed_fixture *s = *state;
	fixture_slow_clock(s->fixture);
	fixture_add_link(s->fixture, "earlier");
	publish(s, "other", 1, "other");
	fixture_start(s->fixture);
	await(s->fixture, IS_FRESH, 1);
	assert_redirects(s->fixture, "earlier", "https://example.com/earlier");
	double queried = fixture_metric(s->fixture, FROM_REDIS);
	assert_redirects(s->fixture, "earlier", "https://example.com/earlier");
	assert_int_equal(fixture_metric(s->fixture, FROM_REDIS), queried);
	atomic_store(&s->shows_a_new_topic, true);
	await(s->fixture, "waymark_feed_resets_total", 1);
	await(s->fixture, IS_FRESH, 1);
	assert_redirects(s->fixture, "earlier", "https://example.com/earlier");
	assert_int_equal(fixture_metric(s->fixture, FROM_REDIS), queried + 1);
}

TEST_CASE(is_ready_and_redirects_without_kafka)
{
	struct feed_fixture *s = *state;
	snprintf(s->fixture->config.kafka.brokers, sizeof(s->fixture->config.kafka.brokers),
	         FIXTURE_UNREACHABLE_KAFKA);
	fixture_add_link(s->fixture, "nokafka");
	fixture_start(s->fixture);
	fixture_await_ready(s->fixture, true);
	assert_redirects(s->fixture, "nokafka", "https://example.com/nokafka");
	assert_int_equal(fixture_metric(s->fixture, IS_FRESH), 0);
	assert_int_equal(fixture_metric(s->fixture, FILTER_COMPLETE), 0);
}

TEST_CASE(entries_live_five_seconds_without_kafka_and_redis)
{
	struct feed_fixture *s = *state;
	snprintf(s->fixture->config.kafka.brokers, sizeof(s->fixture->config.kafka.brokers),
	         FIXTURE_UNREACHABLE_KAFKA);
	snprintf(s->fixture->config.redis_url, sizeof(s->fixture->config.redis_url),
	         FIXTURE_UNREACHABLE_REDIS);
	s->fixture->config.memory_ttl_ms = 1000;
	fixture_add_link(s->fixture, "isolated");
	fixture_start(s->fixture);
	await(s->fixture, "waymark_memory_cache_ttl_seconds", 5);
	int64_t began_ms = http_fixture_now_ms();
	assert_redirects(s->fixture, "isolated", "https://example.com/isolated");
	while (fixture_metric(s->fixture, FROM_POSTGRES) < 2) {
		assert_redirects(s->fixture, "isolated", "https://example.com/isolated");
		assert_true(http_fixture_now_ms() - began_ms < TIMEOUT_MS);
		test_pause();
	}
	int64_t took_ms = http_fixture_now_ms() - began_ms;
	assert_true(took_ms >= 4000);
	test_speed_at_most(took_ms, 7000, "ms");
}

TEST_CASE(a_complete_filter_rejects_invented_slugs_without_postgresql)
{
	struct feed_fixture *s = *state;
	s->fixture->config.unknown_queries_per_second = 0;
	fixture_slow_clock(s->fixture);
	fixture_add_link(s->fixture, "issued");
	fixture_start(s->fixture);
	await(s->fixture, FILTER_COMPLETE, 1);
	static const char *const invented[] = { "invented", "invented-1", "invented-2" };
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(fixture_get_link(s->fixture, invented[i], ""), 404);
	assert_int_equal(fixture_metric(s->fixture, FROM_FILTER), 3);
	assert_int_equal(fixture_metric(s->fixture, FROM_POSTGRES), 0);
	assert_redirects(s->fixture, "issued", "https://example.com/issued");
	/* Issued just now: its event precedes any watermark that would reject it. */
	fixture_add_link(s->fixture, "invented");
	publish(s, "invented", 1, "invented");
	assert_redirects(s->fixture, "invented", "https://example.com/invented");
}

/* The filter alone refuses the guesses; a link that it may contain is looked up. */
TEST_CASE(a_limited_address_costs_no_lookup_of_slugs_that_the_filter_lacks)
{
	struct feed_fixture *s = *state;
	s->fixture->config.unknown_queries_per_second = 0;
	s->fixture->config.unknown_slugs_per_minute = 1;
	fixture_slow_clock(s->fixture);
	fixture_add_link(s->fixture, "cold");
	fixture_start(s->fixture);
	await(s->fixture, FILTER_COMPLETE, 1);
	const char *visitor = "X-Forwarded-For: 203.0.113.7\r\n";
	assert_int_equal(fixture_get_link(s->fixture, "guess-0", visitor), 404);
	await(s->fixture, IS_FRESH, 1);
	double held = fixture_metric(s->fixture, "waymark_unknown_slugs_held_total");
	assert_int_equal(fixture_get_link(s->fixture, "guess-1", visitor), 429);
	assert_int_equal(fixture_get_link(s->fixture, "guess-2", visitor), 429);
	assert_int_equal(fixture_metric(s->fixture, "waymark_unknown_slugs_held_total"), held);
	assert_int_equal(fixture_get_link(s->fixture, "cold", visitor), 302);
}

TEST_CASE(the_query_budget_answers_unknown_slugs_from_postgresql)
{
	struct feed_fixture *s = *state;
	s->fixture->config.unknown_queries_per_second = 1000;
	fixture_start(s->fixture);
	await(s->fixture, FILTER_COMPLETE, 1);
	assert_int_equal(fixture_get_link(s->fixture, "mistyped", ""), 404);
	assert_int_equal(fixture_metric(s->fixture, FROM_FILTER), 0);
	assert_int_equal(fixture_metric(s->fixture, FROM_POSTGRES), 1);
}

TEST_CASE(queries_postgresql_when_the_filter_is_overfull)
{
	struct feed_fixture *s = *state;
	s->fixture->config.slug_bloom_filter_slugs = 1000;
	s->fixture->config.unknown_queries_per_second = 0;
	test_database_run(
		s->fixture->database,
		"INSERT INTO links (slug, link_type, original_url, expires_at) SELECT 'many-' || n, "
		"'TEMPORARY', 'https://example.com/', now() + interval '8 hours' FROM generate_series(1, 1200) n");
	fixture_start(s->fixture);
	await(s->fixture, "waymark_slug_bloom_filter_is_overfull", 1);
	assert_int_equal(fixture_metric(s->fixture, FILTER_COMPLETE), 0);
	assert_int_equal(fixture_get_link(s->fixture, "invented-too", ""), 404);
	assert_int_equal(fixture_metric(s->fixture, FROM_POSTGRES), 1);
	test_database_run(s->fixture->database, "DELETE FROM links WHERE slug LIKE 'many-%'");
}

TEST_CASE(finds_links_that_bypassed_the_api)
{
	struct feed_fixture *s = *state;
	s->fixture->config.unknown_queries_per_second = 0;
	fixture_start(s->fixture);
	await(s->fixture, FILTER_COMPLETE, 1);
	fixture_add_link(s->fixture, "import");
	int64_t until_ms = http_fixture_now_ms() + TIMEOUT_MS;
	while (!redirects(s->fixture, "import", "https://example.com/import")) {
		assert_true(http_fixture_now_ms() < until_ms);
		test_pause();
	}
}

/* Whether the repair is done. Redis refuses it if it answered too late just before: the cache is not valid then. */
static bool is_repaired_after(struct feed_fixture *s, const char *name)
{
	int64_t until_ms = http_fixture_now_ms() + REPAIR_MS;
	publish(s, name, 2, "repaired");
	while (fixture_metric(s->fixture, "waymark_feed_repairs_total") == 0) {
		if (http_fixture_now_ms() >= until_ms)
			return false;
		test_pause();
	}
	return true;
}

TEST_CASE(repairs_redis_after_its_own_stale_fill)
{
	struct feed_fixture *s = *state;
	char name[16] = "";
	fixture_slow_clock(s->fixture);
	fixture_start(s->fixture);
	await(s->fixture, IS_FRESH, 1);
	int64_t until_ms = http_fixture_now_ms() + TIMEOUT_MS;
	int tries = 0;
	do {
		char url[64];
		assert_true(http_fixture_now_ms() < until_ms);
		snprintf(name, sizeof(name), "filled-%d", tries++);
		snprintf(url, sizeof(url), "https://example.com/%s", name);
		fixture_add_link(s->fixture, name);
		assert_redirects(s->fixture, name, url);
	} while (!is_repaired_after(s, name));
	struct link_entry entry;
	assert_int_equal(fixture_read_redis(s->fixture, name, &entry), LINK_CACHE_ENTRY);
	assert_int_equal(entry.version, 2);
}

static bool is_expired(struct fixture *f, const char *name)
{
	return fixture_get_link(f, name, "") == 410;
}

/* The clock of the watermarks is that of PostgreSQL. */
TEST_CASE(follows_no_expired_link_although_its_clock_is_behind)
{
	struct feed_fixture *s = *state;
	struct fixture *f = s->fixture;
	fixture_shift_clock(f, -CLOCK_US_PER_HOUR);
	fixture_add_link(f, "past");
	fixture_change_link(f, "past", "expires_at = clock_timestamp() - interval '1 minute'");
	fixture_add_link(f, "future");
	fixture_change_link(f, "future", "expires_at = clock_timestamp() + interval '1 hour'");
	fixture_start(f);
	int64_t until_ms = http_fixture_now_ms() + TIMEOUT_MS;
	while (!is_expired(f, "past")) {
		assert_true(http_fixture_now_ms() < until_ms);
		test_pause();
	}
	assert_int_equal(fixture_get_link(f, "future", ""), 302);
	assert_true(fixture_metric(f, "waymark_clock_offset_seconds") < -3590);
	await(f, IS_FRESH, 1);
}

TEST_MAIN(.group_set_up = fixture_group_set_up, .group_tear_down = fixture_group_tear_down,
          .set_up = set_up, .tear_down = tear_down)
