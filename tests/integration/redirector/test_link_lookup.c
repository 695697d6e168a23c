#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "tests/integration/redirector/fixture.h"

#define FROM_MEMORY "waymark_link_lookups_total{level=\"memory\"}"
#define FROM_REDIS "waymark_link_lookups_total{level=\"redis\"}"
#define FROM_POSTGRES "waymark_link_lookups_total{level=\"postgres\"}"

static void set_postgres(struct fixture *f, const char *url)
{
	snprintf(f->config.pg_url, sizeof(f->config.pg_url), "%s", url);
}

static void set_redis(struct fixture *f, const char *url)
{
	snprintf(f->config.redis_url, sizeof(f->config.redis_url), "%s", url);
}

static void assert_leads(struct fixture *f, const char *name, const char *destination)
{
	assert_int_equal(fixture_get_link(f, name, ""), 302);
	fixture_assert_header(f, "Location", destination);
}

/* Port of a server that takes connections and never says a word: a frozen one. */
static uint16_t listen_in_silence(int *fd)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(address);
	*fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(*fd >= 0);
	assert_int_equal(bind(*fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(*fd, 128), 0);
	assert_int_equal(getsockname(*fd, (struct sockaddr *)&address, &len), 0);
	return ntohs(address.sin_port);
}

static void asks_postgres_first_time_and_redis_from_then_on(void **state)
{
	struct fixture *f = *state;
	fixture_add_link(f, "order");
	fixture_start(f);
	assert_leads(f, "order", "https://example.com/order");
	assert_int_equal(fixture_metric(f, FROM_POSTGRES), 1);
	struct link_entry entry;
	assert_int_equal(fixture_read_redis(f, "order", &entry), LINK_CACHE_ENTRY);
	assert_string_equal(entry.original_url, "https://example.com/order");

	assert_leads(f, "order", "https://example.com/order");
	assert_int_equal(fixture_metric(f, FROM_REDIS), 1);
	assert_int_equal(fixture_metric(f, FROM_POSTGRES), 1);
	assert_int_equal(fixture_metric(f, FROM_MEMORY), 0);
}

static void answers_from_memory_while_that_is_fresh(void **state)
{
	struct fixture *f = *state;
	f->config.memory_ttl_ms = 60000;
	fixture_add_link(f, "fresh");
	fixture_start(f);
	for (int i = 0; i < 5; i++)
		assert_leads(f, "fresh", "https://example.com/fresh");
	assert_int_equal(fixture_metric(f, FROM_MEMORY), 4);
	assert_int_equal(fixture_metric(f, FROM_POSTGRES), 1);
	assert_int_equal(fixture_metric(f, FROM_REDIS), 0);
}

static void decides_the_expiry_of_what_memory_holds_at_each_request(void **state)
{
	struct fixture *f = *state;
	f->config.memory_ttl_ms = 60000;
	fixture_start(f);
	fixture_await_ready(f, true);
	fixture_add_link(f, "brief");
	fixture_change_link(f, "brief", "expires_at = clock_timestamp() + interval '1 s'");
	assert_leads(f, "brief", "https://example.com/brief");
	int64_t began_ms = http_fixture_now_ms();
	while (fixture_get_link(f, "brief", "") == 302)
		assert_true(http_fixture_now_ms() - began_ms < FIXTURE_TIMEOUT_MS);
	assert_int_equal(f->answer.status, 410);
	assert_int_equal(fixture_metric(f, FROM_POSTGRES), 1);
}

static void goes_on_without_redis(void **state)
{
	struct fixture *f = *state;
	set_redis(f, FIXTURE_UNREACHABLE_REDIS);
	fixture_add_link(f, "noredis");
	fixture_start(f);
	for (int i = 0; i < 3; i++)
		assert_leads(f, "noredis", "https://example.com/noredis");
	assert_int_equal(fixture_get_link(f, "noredis-unknown", ""), 404);
	fixture_await_ready(f, true);
}

static void is_delayed_by_a_frozen_redis_for_a_moment_only(void **state)
{
	struct fixture *f = *state;
	int silent;
	char url[64];
	snprintf(url, sizeof(url), "redis://127.0.0.1:%u", listen_in_silence(&silent));
	set_redis(f, url);
	fixture_add_link(f, "frozen");
	fixture_start(f);
	int64_t began_ms = http_fixture_now_ms();
	assert_leads(f, "frozen", "https://example.com/frozen");
	assert_true(http_fixture_now_ms() - began_ms < 3000);
	close(silent);
}

static void leads_to_what_redis_holds_without_postgres_and_denies_nothing(void **state)
{
	struct fixture *f = *state;
	set_postgres(f, FIXTURE_UNREACHABLE_PG);
	fixture_fill_redis(f, "nopg", 3, "from-redis");
	fixture_start(f);
	assert_leads(f, "nopg", "https://example.com/from-redis");
	assert_int_equal(fixture_get_link(f, "nopg-cold", ""), 503);
	fixture_assert_header(f, "Retry-After", "2");
	fixture_await_ready(f, true);
	struct link_entry entry;
	assert_int_equal(fixture_read_redis(f, "nopg-cold", &entry), LINK_CACHE_MISS);
}

static void says_503_when_no_store_can_tell_and_is_not_ready(void **state)
{
	struct fixture *f = *state;
	set_postgres(f, FIXTURE_UNREACHABLE_PG);
	set_redis(f, FIXTURE_UNREACHABLE_REDIS);
	fixture_start(f);
	assert_int_equal(fixture_get_link(f, "nobody", "Accept: text/html\r\n"), 503);
	fixture_assert_header(f, "Retry-After", "2");
	fixture_assert_header(f, "Content-Type", "text/html; charset=utf-8");
	fixture_await_ready(f, false);
	assert_int_equal(fixture_metric(f, "waymark_events_accepted_total"), 0);
}

static void remembers_an_unknown_slug_in_redis_alone(void **state)
{
	struct fixture *f = *state;
	f->config.memory_ttl_ms = 60000;
	fixture_start(f);
	assert_int_equal(fixture_get_link(f, "later", ""), 404);
	struct link_entry entry;
	assert_int_equal(fixture_read_redis(f, "later", &entry), LINK_CACHE_UNKNOWN);

	/* PostgreSQL is not asked again … */
	fixture_add_link(f, "later");
	assert_int_equal(fixture_get_link(f, "later", ""), 404);
	assert_int_equal(fixture_metric(f, FROM_POSTGRES), 1);
	/* … until whoever created the link says so in Redis. */
	fixture_fill_redis(f, "later", 1, "later");
	assert_leads(f, "later", "https://example.com/later");
}

static void leaves_a_newer_version_in_redis_alone(void **state)
{
	struct fixture *f = *state;
	fixture_add_link(f, "newer");
	fixture_fill_redis(f, "newer", 9, "nine");
	fixture_start(f);
	assert_leads(f, "newer", "https://example.com/nine");
	struct link_entry entry;
	assert_int_equal(fixture_read_redis(f, "newer", &entry), LINK_CACHE_ENTRY);
	assert_int_equal(entry.version, 9);
}

static void passes_over_a_redis_that_is_behind_what_was_seen(void **state)
{
	struct fixture *f = *state;
	fixture_add_link(f, "behind");
	fixture_change_link(f, "behind", "original_url = 'https://example.com/two'");
	fixture_start(f);
	assert_leads(f, "behind", "https://example.com/two");
	fixture_delete_from_redis(f, "behind");
	fixture_fill_redis(f, "behind", 1, "one");
	struct link_entry entry = { 0 };
	/* What PostgreSQL answered too slowly is not put into Redis: then the next visitor's answer is. */
	int64_t until_us = clock_steady_us(clock_system()) + 10 * CLOCK_US_PER_S;
	do {
		assert_leads(f, "behind", "https://example.com/two");
		assert_int_equal(fixture_read_redis(f, "behind", &entry), LINK_CACHE_ENTRY);
	} while (entry.version != 2 && clock_steady_us(clock_system()) < until_us);
	assert_int_equal(entry.version, 2);
}

/* Another redirector read the link just before its purge, and puts it into Redis just after we have denied it. */
static void denies_a_purged_link_whatever_redis_is_told_late(void **state)
{
	struct fixture *f = *state;
	fixture_add_link(f, "purged");
	fixture_start(f);
	assert_leads(f, "purged", "https://example.com/purged");
	test_database_run(f->database, "DELETE FROM links WHERE slug LIKE '%purged'");
	fixture_delete_from_redis(f, "purged");
	assert_int_equal(fixture_get_link(f, "purged", ""), 404);
	fixture_delete_from_redis(f, "purged");
	fixture_fill_redis(f, "purged", 1, "purged");
	assert_int_equal(fixture_get_link(f, "purged", ""), 404);
}

static void shows_a_change_as_soon_as_redis_knows_it(void **state)
{
	struct fixture *f = *state;
	fixture_add_link(f, "change");
	fixture_start(f);
	assert_leads(f, "change", "https://example.com/change");
	fixture_fill_redis(f, "change", 2, "changed");
	assert_leads(f, "change", "https://example.com/changed");
}

/* While the flight hangs in Redis, the others come and wait; Redis gives up, and PostgreSQL is asked once for all. */
static void asks_postgres_once_in_a_stampede(void **state)
{
	enum { CROWD = 200 };
	struct fixture *f = *state;
	int silent;
	char url[64];
	snprintf(url, sizeof(url), "redis://127.0.0.1:%u", listen_in_silence(&silent));
	set_redis(f, url);
	f->config.memory_ttl_ms = 60000;
	fixture_add_link(f, "stampede");
	fixture_start(f);

	char request[128];
	char slug[SLUG_SIZE];
	snprintf(request, sizeof(request), "GET /%s HTTP/1.1\r\nHost: a\r\n\r\n", fixture_slug(f, "stampede", slug));
	int crowd[CROWD];
	for (int i = 0; i < CROWD; i++)
		crowd[i] = http_fixture_connect(&f->server);
	for (int i = 0; i < CROWD; i++)
		assert_true(http_fixture_send_text(crowd[i], request));
	for (int i = 0; i < CROWD; i++) {
		http_fixture_read_answer(crowd[i], true, &f->answer);
		assert_int_equal(f->answer.status, 302);
		close(crowd[i]);
	}
	assert_int_equal(fixture_metric(f, FROM_POSTGRES), 1);
	assert_int_equal(fixture_metric(f, "waymark_events_accepted_total"), CROWD);
	close(silent);
}

/* A hung PostgreSQL must not delay whom Redis can answer. */
static void is_not_delayed_by_a_hung_postgres_when_redis_knows(void **state)
{
	struct fixture *f = *state;
	f->config.workers = 1;
	fixture_add_link(f, "hung");
	fixture_fill_redis(f, "warm", 1, "warm");
	fixture_start(f);
	fixture_await_ready(f, true);

	struct pg_conn *conn = test_database_connect(f->database, NULL);
	assert_int_equal(pg_conn_begin(conn), OK);
	assert_int_equal(pg_conn_query(conn, "LOCK TABLE links IN ACCESS EXCLUSIVE MODE", NULL, NULL), OK);
	char request[128];
	char slug[SLUG_SIZE];
	snprintf(request, sizeof(request), "GET /%s HTTP/1.1\r\nHost: a\r\n\r\n", fixture_slug(f, "hung", slug));
	int waiting = http_fixture_connect(&f->server);
	assert_true(http_fixture_send_text(waiting, request));
	fixture_await_metric(f, "waymark_postgres_connections_busy", 1);

	assert_leads(f, "warm", "https://example.com/warm");
	assert_true(fixture_metric(f, "waymark_link_flights") >= 1); /* the other one still waits */
	pg_conn_rollback(conn);
	pg_conn_close(conn);
	http_fixture_read_answer(waiting, true, &f->answer);
	assert_int_equal(f->answer.status, 302);
	close(waiting);
}

static void leads_nowhere_old_when_redis_comes_back_with_an_old_snapshot(void **state)
{
	struct fixture *f = *state;
	fixture_add_link(f, "snapshot");
	fixture_fill_redis(f, "snapshot", 1, "old");
	test_redis_run(f->redis_server, "SAVE");
	fixture_change_link(f, "snapshot", "original_url = 'https://example.com/new'");
	fixture_fill_redis(f, "snapshot", 2, "new");
	fixture_start(f);
	test_announcer_pause(f->announcer);
	test_redis_restart(f->redis_server);
	for (int64_t began_ms = http_fixture_now_ms(); http_fixture_now_ms() - began_ms < 1000;)
		assert_leads(f, "snapshot", "https://example.com/new");
	test_announcer_go_on(f->announcer);
	fixture_await_metric(f, "waymark_link_cache_trusted", 1);
	assert_leads(f, "snapshot", "https://example.com/new");
}

/* PostgreSQL takes the relay with it, whose silence must not make Redis useless. */
static void leads_to_what_redis_holds_when_postgres_and_the_relay_are_away(void **state)
{
	struct fixture *f = *state;
	set_postgres(f, FIXTURE_UNREACHABLE_PG);
	fixture_fill_redis(f, "silence", 3, "from-redis");
	fixture_start(f);
	test_announcer_pause(f->announcer);
	int64_t began_ms = http_fixture_now_ms();
	while (fixture_metric(f, "waymark_link_cache_trusted") == 1) {
		assert_leads(f, "silence", "https://example.com/from-redis");
		assert_true(http_fixture_now_ms() - began_ms < FIXTURE_TIMEOUT_MS);
	}
	assert_leads(f, "silence", "https://example.com/from-redis");
	test_announcer_go_on(f->announcer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_set_up, fixture_tear_down)
		TEST(asks_postgres_first_time_and_redis_from_then_on),
		TEST(answers_from_memory_while_that_is_fresh),
		TEST(decides_the_expiry_of_what_memory_holds_at_each_request),
		TEST(goes_on_without_redis),
		TEST(is_delayed_by_a_frozen_redis_for_a_moment_only),
		TEST(leads_to_what_redis_holds_without_postgres_and_denies_nothing),
		TEST(says_503_when_no_store_can_tell_and_is_not_ready),
		TEST(remembers_an_unknown_slug_in_redis_alone),
		TEST(leaves_a_newer_version_in_redis_alone),
		TEST(passes_over_a_redis_that_is_behind_what_was_seen),
		TEST(denies_a_purged_link_whatever_redis_is_told_late),
		TEST(shows_a_change_as_soon_as_redis_knows_it),
		TEST(asks_postgres_once_in_a_stampede),
		TEST(is_not_delayed_by_a_hung_postgres_when_redis_knows),
		TEST(leads_nowhere_old_when_redis_comes_back_with_an_old_snapshot),
		TEST(leads_to_what_redis_holds_when_postgres_and_the_relay_are_away),
	};
	return cmocka_run_group_tests(tests, fixture_group_set_up, fixture_group_tear_down);
}
