#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/clicks/redirect_batch.h"
#include "lib/clicks/salt_store.h"
#include "services/redirector/events/event_shipper.h"
#include "tests/integration/redirector/event_reader.h"
#include "tests/integration/redirector/fixture.h"
#include "tests/support/clock_fake.h"
#include "tests/support/test.h"

#define ACCEPTED "waymark_events_accepted_total"
#define ACKED "waymark_events_acked_total"
#define QUEUED "waymark_events_queued"
#define DROPPED "waymark_events_dropped_total"

static void read_events(struct fixture *f, const char *name, struct event_read *events,
                        size_t count)
{
	char slug[SLUG_SIZE];
	event_reader_read(&(struct event_reader){ .kafka = &f->config.kafka,
	                                          .topic = REDIRECT_BATCH_TOPIC,
	                                          .slug = fixture_slug(f, name, slug),
	                                          .log = f->log },
	                  events, count);
}

/* How often the journal was written to disk. The linker leads the call here (--wrap). */
static _Atomic unsigned syncs;
int __real_msync(void *addr, size_t len, int flags);
int __wrap_msync(void *addr, size_t len, int flags);

int __wrap_msync(void *addr, size_t len, int flags)
{
	atomic_fetch_add(&syncs, 1);
	return __real_msync(addr, len, flags);
}

TEST_CASE(makes_one_event_per_redirect_and_none_for_other_responses)
{
	struct fixture *f = *state;
	fixture_add_link(f, "counted");
	fixture_add_link(f, "gone");
	fixture_change_link(f, "gone", "state = 'EXPIRED'");
	fixture_add_link(f, "over");
	fixture_change_link(f, "over",
	                    "state = 'EXPIRED', expired_url = 'https://example.com/over'");
	fixture_add_link(f, "off");
	fixture_change_link(f, "off", "state = 'DISABLED'");
	fixture_start(f);
	assert_int_equal(fixture_get_link(f, "counted", ""), 302);
	assert_int_equal(fixture_get_link(f, "over", ""), 302);
	assert_int_equal(fixture_get_link(f, "gone", ""), 410);
	assert_int_equal(fixture_get_link(f, "off", ""), 404);
	assert_int_equal(fixture_get_link(f, "unknown", ""), 404);
	assert_int_equal(fixture_request(f, "POST /", ""), 405);
	assert_int_equal(fixture_metric(f, ACCEPTED), 2);
	fixture_await_metric(f, ACKED, 2);
	assert_int_equal(fixture_metric(f, QUEUED), 0);
	assert_int_equal(fixture_metric(f, DROPPED), 0);
}

TEST_CASE(ships_every_event_before_it_ends)
{
	struct fixture *f = *state;
	f->config.drain_ms = FIXTURE_TIMEOUT_MS;
	f->config.memory_ttl_ms = 60000;
	fixture_add_link(f, "flush");
	fixture_start(f);
	for (int i = 0; i < 50; i++)
		assert_int_equal(fixture_get_link(f, "flush", ""), 302);
	assert_int_equal(redirector_drain(f->redirector), OK);
	assert_int_equal(fixture_metric(f, ACKED), 50);
}

/* Sends requests one after another on one connection, as fast as it can. */
static void get_link_repeatedly(struct fixture *f, const char *name, int times)
{
	char request[256];
	char slug[SLUG_SIZE];
	snprintf(request, sizeof(request), "GET /%s HTTP/1.1\r\nHost: a\r\n\r\n",
	         fixture_slug(f, name, slug));
	int fd = http_fixture_connect(&f->server);
	for (int i = 0; i < times; i++) {
		assert_true(http_fixture_send_text(fd, request));
		http_fixture_read_response(fd, true, &f->answer);
		assert_int_equal(f->answer.status, 302);
	}
	close(fd);
}

static void assert_adds_up(struct fixture *f)
{
	struct strbuf text;
	strbuf_init(&text, 1024 * 1024);
	metrics_render(f->metrics, &text);
	long long accepted = -1, acked = -1, queued = -1, dropped = -1;
	const char *names[] = { "\n" ACCEPTED " ", "\n" ACKED " ", "\n" QUEUED " ",
		                "\n" DROPPED " " };
	long long *values[] = { &accepted, &acked, &queued, &dropped };
	for (size_t i = 0; i < 4; i++) {
		const char *found = strstr(text.data, names[i]);
		assert_non_null(found);
		*values[i] = found ? strtoll(found + strlen(names[i]), NULL, 10) : -1;
	}
	assert_true(queued >= 0);
	assert_int_equal(accepted, acked + queued + dropped);
	strbuf_clear(&text);
}

TEST_CASE(redirects_without_kafka_and_drops_events_only_when_the_journal_is_full)
{
	struct fixture *f = *state;
	snprintf(f->config.kafka.brokers, sizeof(f->config.kafka.brokers),
	         FIXTURE_UNREACHABLE_KAFKA);
	f->config.journal_max_bytes = (int64_t)256 * 1024;
	f->config.drain_ms = 0;
	f->config.memory_ttl_ms = 60000;
	fixture_add_link(f, "nokafka");
	fixture_start(f);
	get_link_repeatedly(f, "nokafka", 100);
	assert_int_equal(fixture_metric(f, QUEUED), 100);
	assert_int_equal(fixture_metric(f, DROPPED), 0);
	assert_adds_up(f);
	for (int i = 0; i < 20; i++) {
		get_link_repeatedly(f, "nokafka", 150);
		assert_adds_up(f);
	}
	assert_int_equal(fixture_metric(f, ACCEPTED), 3100);
	assert_true(fixture_metric(f, DROPPED) > 0);
	assert_int_equal(fixture_metric(f, ACKED), 0);
	assert_int_equal(atomic_load(&syncs), 0);
	fixture_await_ready(f, true);
}

TEST_CASE(syncs_the_journal_while_clicks_wait_for_kafka)
{
	struct fixture *f = *state;
	snprintf(f->config.kafka.brokers, sizeof(f->config.kafka.brokers),
	         FIXTURE_UNREACHABLE_KAFKA);
	f->config.journal_fsync_ms = 10;
	f->config.drain_ms = 0;
	fixture_add_link(f, "synced");
	fixture_start(f);
	assert_int_equal(fixture_get_link(f, "synced", ""), 302);
	assert_true(http_fixture_wait_for(&syncs, 1));
}

#define LINKS 12

/* Headers as long as an event keeps them. */
static void write_greedy_headers(char *out, size_t size)
{
	char agent[REDIRECT_EVENT_USER_AGENT_MAX + 1] = { 0 };
	memset(agent, 'a', sizeof(agent) - 1);
	snprintf(out, size,
	         "X-Forwarded-For: 198.51.100.7\r\nUser-Agent: %s\r\nReferer: https://%.200s/\r\n",
	         agent, agent);
}

/* The visitor follows links in all shards, until the journal takes no more of them. */
TEST_CASE(one_visitor_does_not_take_the_journal_from_all_others)
{
	struct fixture *f = *state;
	char name[20], greedy[1024], other[64];
	write_greedy_headers(greedy, sizeof(greedy));
	snprintf(f->config.kafka.brokers, sizeof(f->config.kafka.brokers),
	         FIXTURE_UNREACHABLE_KAFKA);
	f->config.journal_max_bytes = (int64_t)1024 * 1024;
	f->config.drain_ms = 0;
	f->config.memory_ttl_ms = 60000;
	for (int i = 0; i < 2 * LINKS; i++) {
		snprintf(name, sizeof(name), "link-%d", i);
		fixture_add_link(f, name);
	}
	fixture_start(f);
	for (int i = 0; i < 150 * LINKS; i++) {
		snprintf(name, sizeof(name), "link-%d", i % LINKS);
		assert_int_equal(fixture_get_link(f, name, greedy), 302);
	}
	double dropped = fixture_metric(f, DROPPED);
	assert_true(dropped > 0);
	assert_true(fixture_metric(f, "waymark_events_over_share_total") == dropped);
	for (int i = LINKS; i < 2 * LINKS; i++) {
		snprintf(name, sizeof(name), "link-%d", i);
		snprintf(other, sizeof(other), "X-Forwarded-For: 203.0.%d.7\r\n", i);
		assert_int_equal(fixture_get_link(f, name, other), 302);
	}
	/* One bucket in 4,095 is shared with the greedy visitor. */
	assert_true(fixture_metric(f, DROPPED) <= dropped + 1);
	assert_adds_up(f);
	fixture_await_ready(f, true);
}

#define APPENDED 20000

static void *append_events(void *arg)
{
	static struct redirect_event event;
	event.link_id = event.link_version = event.occurred_at_us = 1;
	event.status = 302;
	event.method = REDIRECT_METHOD_GET;
	snprintf(event.slug, sizeof(event.slug), "sum");
	for (int i = 0; i < APPENDED; i++)
		event_shipper_append(arg, &event);
	return NULL;
}

TEST_CASE(counts_add_up_at_every_scrape)
{
	struct fixture *f = *state;
	struct event_shipper_config config = {
		.kafka = &f->config.kafka,
		.topic = REDIRECT_BATCH_TOPIC,
		.journal_dir = f->journal_dir,
		.bytes_max = (size_t)16 * 1024 * 1024,
		.clock = clock_system(),
		.log = f->log,
		.metrics = f->metrics,
	};
	struct event_shipper *shipper = NULL;
	assert_int_equal(event_shipper_new(&config, &shipper), OK);
	pthread_t appender;
	assert_int_equal(pthread_create(&appender, NULL, append_events, shipper), 0);
	while (fixture_metric(f, ACCEPTED) < APPENDED)
		assert_adds_up(f);
	pthread_join(appender, NULL);
	assert_int_equal(event_shipper_flush(shipper, FIXTURE_TIMEOUT_MS), OK);
	assert_adds_up(f);
	assert_int_equal(fixture_metric(f, QUEUED), 0);
	event_shipper_free(shipper);
}

TEST_CASE(says_for_an_hour_how_many_events_were_lost)
{
	struct fixture *f = *state;
	struct clock_fake clock;
	struct kafka_config nowhere = f->config.kafka;
	snprintf(nowhere.brokers, sizeof(nowhere.brokers), FIXTURE_UNREACHABLE_KAFKA);
	clock_fake_init(&clock, clock_now_us(clock_system()));
	struct event_shipper_config config = {
		.kafka = &nowhere,
		.topic = REDIRECT_BATCH_TOPIC,
		.journal_dir = f->journal_dir,
		.bytes_max = (size_t)256 * 1024,
		.clock = &clock.clock,
		.log = f->log,
		.metrics = f->metrics,
	};
	struct event_shipper *shipper = NULL;
	assert_int_equal(event_shipper_new(&config, &shipper), OK);
	assert_int_equal(event_shipper_dropped_lately(shipper), 0);
	append_events(shipper);
	int64_t dropped = event_shipper_dropped_lately(shipper);
	assert_true(dropped > 0);
	assert_int_equal(event_shipper_count(shipper).dropped, dropped);
	clock_fake_advance(&clock, CLOCK_US_PER_HOUR);
	append_events(shipper);
	assert_int_equal(event_shipper_dropped_lately(shipper), dropped + APPENDED);
	clock_fake_advance(&clock, CLOCK_US_PER_HOUR + 1);
	assert_int_equal(event_shipper_dropped_lately(shipper), 0);
	append_events(shipper);
	assert_int_equal(event_shipper_dropped_lately(shipper), APPENDED);
	event_shipper_free(shipper);
}

/* --- the content of an event --- */

static void create_salts(struct fixture *f)
{
	struct pg_conn *conn = test_database_connect(f->database, NULL);
	int32_t today = clock_utc_day(clock_now_us(clock_system()));
	int64_t made = 0;
	assert_int_equal(salt_store_create_missing(conn, today, today + 1, &made), OK);
	pg_conn_close(conn);
}

static void get_link_until_hashed(struct fixture *f, const char *name, const char *headers)
{
	int64_t began_ms = http_fixture_now_ms();
	double without;
	do {
		without = fixture_metric(f, "waymark_events_without_visitor_hash_total");
		assert_int_equal(fixture_get_link(f, name, headers), 302);
		assert_true(http_fixture_now_ms() - began_ms < FIXTURE_TIMEOUT_MS);
	} while (fixture_metric(f, "waymark_events_without_visitor_hash_total") > without);
}

/* Leaves the files as kill -9 does: nothing reached Kafka. */
TEST_CASE(the_next_redirector_ships_unacknowledged_events)
{
	struct fixture *f = *state;
	struct kafka_config nowhere = f->config.kafka;
	snprintf(nowhere.brokers, sizeof(nowhere.brokers), FIXTURE_UNREACHABLE_KAFKA);
	struct event_shipper_config config = {
		.kafka = &nowhere,
		.topic = REDIRECT_BATCH_TOPIC,
		.journal_dir = f->journal_dir,
		.bytes_max = (size_t)16 * 1024 * 1024,
		.clock = clock_system(),
		.log = f->log,
		.metrics = f->metrics,
	};
	struct event_shipper *shipper = NULL;
	assert_int_equal(event_shipper_new(&config, &shipper), OK);
	for (int64_t i = 1; i <= 20; i++) {
		struct redirect_event event = { .link_id = i,
			                        .link_version = 1,
			                        .occurred_at_us = 1,
			                        .status = 302,
			                        .method = REDIRECT_METHOD_GET };
		fixture_slug(f, "left", event.slug);
		event_shipper_append(shipper, &event);
	}
	event_shipper_free(shipper);

	metrics_free(f->metrics);
	f->metrics = metrics_new();
	fixture_add_link(f, "left");
	fixture_start(f);
	assert_int_equal(fixture_get_link(f, "left", ""), 302);
	fixture_await_metric(f, ACKED, 21);
	assert_int_equal(fixture_metric(f, ACCEPTED), 21);
	static struct event_read found[21];
	read_events(f, "left", found, 21);
	for (size_t i = 0; i < 20; i++) {
		assert_int_equal(found[i].event.link_id, i + 1);
		assert_int_equal(found[i].event.event_id[6] >> 4, 7);
		assert_int_equal(found[i].sequence, i + 1);
		assert_memory_equal(found[i].instance, found[0].instance, ENTROPY_UUID_SIZE);
	}
	assert_int_equal(found[20].sequence, 1);
	assert_memory_not_equal(found[20].instance, found[19].instance, ENTROPY_UUID_SIZE);
}

TEST_CASE(describes_the_visitor_without_the_address)
{
	static struct event_read read[5];
	struct redirect_event events[5];
	struct fixture *f = *state;
	snprintf(f->config.region, sizeof(f->config.region), "eu-west");
	create_salts(f);
	fixture_add_link(f, "warmup");
	fixture_add_link(f, "visited");
	fixture_start(f);
	get_link_until_hashed(f, "warmup", "X-Forwarded-For: 203.0.113.99\r\n");
	int64_t before_us = clock_now_us(clock_system());
	fixture_get_link(
		f, "visited",
		"X-Forwarded-For: 203.0.113.99\r\nUser-Agent: Firefox\r\nSec-Purpose: prefetch\r\n");
	fixture_get_link(f, "visited", "X-Forwarded-For: 203.0.113.99\r\nUser-Agent: Firefox\r\n");
	fixture_get_link(f, "visited", "X-Forwarded-For: 203.0.113.98\r\nUser-Agent: Firefox\r\n");
	fixture_get_link(f, "visited", "X-Forwarded-For: unknown\r\n");
	fixture_get_link(f, "visited", "");
	fixture_await_metric(f, ACKED, fixture_metric(f, ACCEPTED));
	read_events(f, "visited", read, 5);

	for (size_t i = 0; i < 5; i++) {
		events[i] = read[i].event;
		assert_int_equal(events[i].status, 302);
		assert_int_equal(events[i].link_version, 1);
		assert_string_equal(events[i].region, "eu-west");
		assert_true(events[i].occurred_at_us >= before_us);
		assert_true(events[i].latency_us < 5000000);
		assert_memory_equal(read[i].instance, read[0].instance, ENTROPY_UUID_SIZE);
		assert_true(i == 0 || read[i].sequence == read[i - 1].sequence + 1);
		assert_true(i == 0 || memcmp(events[i].event_id, events[i - 1].event_id,
		                             ENTROPY_UUID_SIZE) != 0);
	}
	assert_true(events[0].prefetch);
	assert_false(events[1].prefetch);
	assert_string_equal(events[0].client_network, "203.0.113.0/24");
	assert_true(events[0].has_visitor_hash);
	assert_memory_equal(events[0].visitor_hash, events[1].visitor_hash, DIGEST_SIZE);
	assert_memory_not_equal(events[0].visitor_hash, events[2].visitor_hash, DIGEST_SIZE);
	assert_string_equal(events[3].client_network, "");
	assert_false(events[3].has_visitor_hash);
	assert_string_equal(events[4].client_network, "127.0.0.0/24");
	assert_true(events[4].has_visitor_hash);
}

TEST_MAIN(.group_set_up = fixture_group_set_up, .group_tear_down = fixture_group_tear_down,
          .set_up = fixture_set_up, .tear_down = fixture_tear_down)
