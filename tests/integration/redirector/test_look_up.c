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
#include "tests/integration/redirector/world.h"

#define FROM_MEMORY "waymark_link_lookups_total{level=\"memory\"}"
#define FROM_REDIS "waymark_link_lookups_total{level=\"redis\"}"
#define FROM_POSTGRES "waymark_link_lookups_total{level=\"postgres\"}"

static void set_postgres(struct world *world, const char *url)
{
	snprintf(world->config.pg_url, sizeof(world->config.pg_url), "%s", url);
}

static void set_redis(struct world *world, const char *url)
{
	snprintf(world->config.redis_url, sizeof(world->config.redis_url), "%s", url);
}

static void assert_leads(struct world *world, const char *name, const char *destination)
{
	assert_int_equal(world_follow(world, name, ""), 302);
	world_assert_header(world, "Location", destination);
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
	struct world *world = *state;
	world_add_link(world, "order");
	world_start(world);
	assert_leads(world, "order", "https://example.com/order");
	assert_int_equal(world_metric(world, FROM_POSTGRES), 1);
	struct link_entry entry;
	assert_int_equal(world_ask_redis(world, "order", &entry), LINK_CACHE_ENTRY);
	assert_string_equal(entry.original_url, "https://example.com/order");

	assert_leads(world, "order", "https://example.com/order");
	assert_int_equal(world_metric(world, FROM_REDIS), 1);
	assert_int_equal(world_metric(world, FROM_POSTGRES), 1);
	assert_int_equal(world_metric(world, FROM_MEMORY), 0);
}

static void answers_from_memory_while_that_is_fresh(void **state)
{
	struct world *world = *state;
	world->config.memory_ttl_ms = 60000;
	world_add_link(world, "fresh");
	world_start(world);
	for (int i = 0; i < 5; i++)
		assert_leads(world, "fresh", "https://example.com/fresh");
	assert_int_equal(world_metric(world, FROM_MEMORY), 4);
	assert_int_equal(world_metric(world, FROM_POSTGRES), 1);
	assert_int_equal(world_metric(world, FROM_REDIS), 0);
}

static void decides_the_expiry_of_what_memory_holds_at_each_request(void **state)
{
	struct world *world = *state;
	world->config.memory_ttl_ms = 60000;
	world_start(world);
	world_await_ready(world, true);
	world_add_link(world, "brief");
	world_change_link(world, "brief", "expires_at = clock_timestamp() + interval '1 s'");
	assert_leads(world, "brief", "https://example.com/brief");
	int64_t began_ms = http_fixture_now_ms();
	while (world_follow(world, "brief", "") == 302)
		assert_true(http_fixture_now_ms() - began_ms < WORLD_DEADLINE_MS);
	assert_int_equal(world->answer.status, 410);
	assert_int_equal(world_metric(world, FROM_POSTGRES), 1);
}

static void goes_on_without_redis(void **state)
{
	struct world *world = *state;
	set_redis(world, WORLD_NOWHERE_REDIS);
	world_add_link(world, "noredis");
	world_start(world);
	for (int i = 0; i < 3; i++)
		assert_leads(world, "noredis", "https://example.com/noredis");
	assert_int_equal(world_follow(world, "noredis-unknown", ""), 404);
	world_await_ready(world, true);
}

static void is_delayed_by_a_frozen_redis_for_a_moment_only(void **state)
{
	struct world *world = *state;
	int silent;
	char url[64];
	snprintf(url, sizeof(url), "redis://127.0.0.1:%u", listen_in_silence(&silent));
	set_redis(world, url);
	world_add_link(world, "frozen");
	world_start(world);
	int64_t began_ms = http_fixture_now_ms();
	assert_leads(world, "frozen", "https://example.com/frozen");
	assert_true(http_fixture_now_ms() - began_ms < 3000);
	close(silent);
}

static void leads_to_what_redis_holds_without_postgres_and_denies_nothing(void **state)
{
	struct world *world = *state;
	set_postgres(world, WORLD_NOWHERE_PG);
	world_tell_redis(world, "nopg", 3, "from-redis");
	world_start(world);
	assert_leads(world, "nopg", "https://example.com/from-redis");
	assert_int_equal(world_follow(world, "nopg-cold", ""), 503);
	world_assert_header(world, "Retry-After", "2");
	world_await_ready(world, true);
	struct link_entry entry;
	assert_int_equal(world_ask_redis(world, "nopg-cold", &entry), LINK_CACHE_MISS);
}

static void says_503_when_no_store_can_tell_and_is_not_ready(void **state)
{
	struct world *world = *state;
	set_postgres(world, WORLD_NOWHERE_PG);
	set_redis(world, WORLD_NOWHERE_REDIS);
	world_start(world);
	assert_int_equal(world_follow(world, "nobody", "Accept: text/html\r\n"), 503);
	world_assert_header(world, "Retry-After", "2");
	world_assert_header(world, "Content-Type", "text/html; charset=utf-8");
	world_await_ready(world, false);
	assert_int_equal(world_metric(world, "waymark_events_accepted_total"), 0);
}

static void remembers_an_unknown_slug_in_redis_alone(void **state)
{
	struct world *world = *state;
	world->config.memory_ttl_ms = 60000;
	world_start(world);
	assert_int_equal(world_follow(world, "later", ""), 404);
	struct link_entry entry;
	assert_int_equal(world_ask_redis(world, "later", &entry), LINK_CACHE_UNKNOWN);

	/* PostgreSQL is not asked again … */
	world_add_link(world, "later");
	assert_int_equal(world_follow(world, "later", ""), 404);
	assert_int_equal(world_metric(world, FROM_POSTGRES), 1);
	/* … until whoever created the link says so in Redis. */
	world_tell_redis(world, "later", 1, "later");
	assert_leads(world, "later", "https://example.com/later");
}

static void leaves_a_newer_version_in_redis_alone(void **state)
{
	struct world *world = *state;
	world_add_link(world, "newer");
	world_tell_redis(world, "newer", 9, "nine");
	world_start(world);
	assert_leads(world, "newer", "https://example.com/nine");
	struct link_entry entry;
	assert_int_equal(world_ask_redis(world, "newer", &entry), LINK_CACHE_ENTRY);
	assert_int_equal(entry.version, 9);
}

static void passes_over_a_redis_that_is_behind_what_was_seen(void **state)
{
	struct world *world = *state;
	world_add_link(world, "behind");
	world_change_link(world, "behind", "original_url = 'https://example.com/two'");
	world_start(world);
	assert_leads(world, "behind", "https://example.com/two");
	world_forget_in_redis(world, "behind");
	world_tell_redis(world, "behind", 1, "one");
	struct link_entry entry = { 0 };
	/* What PostgreSQL answered too slowly is not put into Redis: then the next visitor's answer is. */
	int64_t until_us = clock_steady_us(clock_system()) + 10 * CLOCK_US_PER_S;
	do {
		assert_leads(world, "behind", "https://example.com/two");
		assert_int_equal(world_ask_redis(world, "behind", &entry), LINK_CACHE_ENTRY);
	} while (entry.version != 2 && clock_steady_us(clock_system()) < until_us);
	assert_int_equal(entry.version, 2);
}

/* Another redirector read the link just before its purge, and puts it into Redis just after we have denied it. */
static void denies_a_purged_link_whatever_redis_is_told_late(void **state)
{
	struct world *world = *state;
	world_add_link(world, "purged");
	world_start(world);
	assert_leads(world, "purged", "https://example.com/purged");
	test_database_run(world->database, "DELETE FROM links WHERE slug LIKE '%purged'");
	world_forget_in_redis(world, "purged");
	assert_int_equal(world_follow(world, "purged", ""), 404);
	world_forget_in_redis(world, "purged");
	world_tell_redis(world, "purged", 1, "purged");
	assert_int_equal(world_follow(world, "purged", ""), 404);
}

static void shows_a_change_as_soon_as_redis_knows_it(void **state)
{
	struct world *world = *state;
	world_add_link(world, "change");
	world_start(world);
	assert_leads(world, "change", "https://example.com/change");
	world_tell_redis(world, "change", 2, "changed");
	assert_leads(world, "change", "https://example.com/changed");
}

/* While the flight hangs in Redis, the others come and wait; Redis gives up, and PostgreSQL is asked once for all. */
static void asks_postgres_once_in_a_stampede(void **state)
{
	enum { CROWD = 200 };
	struct world *world = *state;
	int silent;
	char url[64];
	snprintf(url, sizeof(url), "redis://127.0.0.1:%u", listen_in_silence(&silent));
	set_redis(world, url);
	world->config.memory_ttl_ms = 60000;
	world_add_link(world, "stampede");
	world_start(world);

	char request[128];
	char slug[SLUG_SIZE];
	snprintf(request, sizeof(request), "GET /%s HTTP/1.1\r\nHost: a\r\n\r\n", world_slug(world, "stampede", slug));
	int crowd[CROWD];
	for (int i = 0; i < CROWD; i++)
		crowd[i] = http_fixture_connect(&world->door);
	for (int i = 0; i < CROWD; i++)
		assert_true(http_fixture_send_text(crowd[i], request));
	for (int i = 0; i < CROWD; i++) {
		http_fixture_read_answer(crowd[i], true, &world->answer);
		assert_int_equal(world->answer.status, 302);
		close(crowd[i]);
	}
	assert_int_equal(world_metric(world, FROM_POSTGRES), 1);
	assert_int_equal(world_metric(world, "waymark_events_accepted_total"), CROWD);
	close(silent);
}

/* A hung PostgreSQL must not delay whom Redis can answer. */
static void is_not_delayed_by_a_hung_postgres_when_redis_knows(void **state)
{
	struct world *world = *state;
	world->config.workers = 1;
	world_add_link(world, "hung");
	world_tell_redis(world, "warm", 1, "warm");
	world_start(world);
	world_await_ready(world, true);

	struct pg_conn *conn = test_database_connect(world->database, NULL);
	assert_int_equal(pg_conn_begin(conn), OK);
	assert_int_equal(pg_conn_query(conn, "LOCK TABLE links IN ACCESS EXCLUSIVE MODE", NULL, NULL), OK);
	char request[128];
	char slug[SLUG_SIZE];
	snprintf(request, sizeof(request), "GET /%s HTTP/1.1\r\nHost: a\r\n\r\n", world_slug(world, "hung", slug));
	int waiting = http_fixture_connect(&world->door);
	assert_true(http_fixture_send_text(waiting, request));
	world_await_metric(world, "waymark_postgres_connections_busy", 1);

	assert_leads(world, "warm", "https://example.com/warm");
	assert_true(world_metric(world, "waymark_link_flights") >= 1); /* the other one still waits */
	pg_conn_rollback(conn);
	pg_conn_close(conn);
	http_fixture_read_answer(waiting, true, &world->answer);
	assert_int_equal(world->answer.status, 302);
	close(waiting);
}

static void leads_nowhere_old_when_redis_comes_back_with_an_old_snapshot(void **state)
{
	struct world *world = *state;
	world_add_link(world, "snapshot");
	world_tell_redis(world, "snapshot", 1, "old");
	test_redis_run(world->redis_server, "SAVE");
	world_change_link(world, "snapshot", "original_url = 'https://example.com/new'");
	world_tell_redis(world, "snapshot", 2, "new");
	world_start(world);
	test_announcer_pause(world->announcer);
	test_redis_restart(world->redis_server);
	for (int64_t began_ms = http_fixture_now_ms(); http_fixture_now_ms() - began_ms < 1000;)
		assert_leads(world, "snapshot", "https://example.com/new");
	test_announcer_go_on(world->announcer);
	world_await_metric(world, "waymark_link_cache_trusted", 1);
	assert_leads(world, "snapshot", "https://example.com/new");
}

/* PostgreSQL takes the relay with it, whose silence must not make Redis useless. */
static void leads_to_what_redis_holds_when_postgres_and_the_relay_are_away(void **state)
{
	struct world *world = *state;
	set_postgres(world, WORLD_NOWHERE_PG);
	world_tell_redis(world, "silence", 3, "from-redis");
	world_start(world);
	test_announcer_pause(world->announcer);
	int64_t began_ms = http_fixture_now_ms();
	while (world_metric(world, "waymark_link_cache_trusted") == 1) {
		assert_leads(world, "silence", "https://example.com/from-redis");
		assert_true(http_fixture_now_ms() - began_ms < WORLD_DEADLINE_MS);
	}
	assert_leads(world, "silence", "https://example.com/from-redis");
	test_announcer_go_on(world->announcer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, world_reset, world_stop)
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
	return cmocka_run_group_tests(tests, world_open, world_close);
}
