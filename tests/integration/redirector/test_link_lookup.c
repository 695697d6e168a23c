#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "tests/integration/redirector/fixture.h"
#include "tests/support/test.h"

#define FROM_MEMORY "waymark_link_lookups_total{level=\"memory\"}"
#define FROM_REDIS "waymark_link_lookups_total{level=\"redis\"}"
#define ACCEPTED "waymark_events_accepted_total"
#define FROM_POSTGRES "waymark_link_lookups_total{level=\"postgres\"}"

static void set_postgres(struct fixture *f, const char *url)
{
	snprintf(f->config.pg_url, sizeof(f->config.pg_url), "%s", url);
}

static void set_redis(struct fixture *f, const char *url)
{
	snprintf(f->config.redis_url, sizeof(f->config.redis_url), "%s", url);
}

static void assert_redirects(struct fixture *f, const char *name, const char *destination)
{
	assert_int_equal(fixture_get_link(f, name, ""), 302);
	fixture_assert_header(f, "Location", destination);
}

/* A server in the place of Redis that accepts connections and never replies. Returns its socket. */
static int set_hung_redis(struct fixture *f)
{
	char url[64];
	struct sockaddr_in address = { .sin_family = AF_INET,
		                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 128), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	snprintf(url, sizeof(url), "redis://127.0.0.1:%u", ntohs(address.sin_port));
	set_redis(f, url);
	f->config.redis_timeout_ms = 30;
	return fd;
}

TEST_CASE(queries_postgres_first_and_redis_from_then_on)
{
	struct fixture *f = *state;
	fixture_add_link(f, "order");
	fixture_start(f);
	assert_redirects(f, "order", "https://example.com/order");
	assert_int_equal(fixture_metric(f, FROM_POSTGRES), 1);
	struct link_entry entry;
	assert_int_equal(fixture_read_redis(f, "order", &entry), LINK_CACHE_ENTRY);
	assert_string_equal(entry.original_url, "https://example.com/order");

	assert_redirects(f, "order", "https://example.com/order");
	assert_int_equal(fixture_metric(f, FROM_REDIS), 1);
	assert_int_equal(fixture_metric(f, FROM_POSTGRES), 1);
	assert_int_equal(fixture_metric(f, FROM_MEMORY), 0);
}

TEST_CASE(serves_from_memory_while_the_entry_is_fresh)
{
	struct fixture *f = *state;
	f->config.memory_ttl_ms = 60000;
	fixture_add_link(f, "fresh");
	fixture_start(f);
	for (int i = 0; i < 5; i++)
		assert_redirects(f, "fresh", "https://example.com/fresh");
	assert_int_equal(fixture_metric(f, FROM_MEMORY), 4);
	assert_int_equal(fixture_metric(f, FROM_POSTGRES), 1);
	assert_int_equal(fixture_metric(f, FROM_REDIS), 0);
}

TEST_CASE(checks_the_expiry_of_a_cached_link_at_each_request)
{
	struct fixture *f = *state;
	f->config.memory_ttl_ms = 2 * FIXTURE_TIMEOUT_MS; /* else 410 could come from Redis */
	fixture_start(f);
	fixture_await_ready(f, true);
	fixture_add_link(f, "brief");
	fixture_change_link(f, "brief", "expires_at = clock_timestamp() + interval '5 s'");
	assert_redirects(f, "brief", "https://example.com/brief");
	int64_t began_ms = http_fixture_now_ms();
	while (fixture_get_link(f, "brief", "") == 302) {
		assert_true(http_fixture_now_ms() - began_ms < FIXTURE_TIMEOUT_MS);
		test_pause();
	}
	assert_int_equal(f->answer.status, 410);
	assert_int_equal(fixture_metric(f, FROM_POSTGRES), 1);
}

#define REQUESTS 4

/*
 * A link that starts in an hour: 404 and no event until then, 302 from then on. Nothing but the
 * clock changes. So many 404s of an unknown slug would be limited (429).
 */
static void follow_across_the_start(struct fixture *f, const char *name)
{
	char destination[64];
	snprintf(destination, sizeof(destination), "https://example.com/%s", name);
	f->config.unknown_slugs_per_minute = 1;
	fixture_start(f);
	fixture_await_ready(f, true);
	fixture_add_link(f, name);
	fixture_change_link(f, name, "starts_at = clock_timestamp() + interval '1 hour'");
	for (int i = 0; i < REQUESTS - 1; i++) {
		assert_int_equal(fixture_get_link(f, name, ""), 404);
		fixture_assert_header(f, "Cache-Control", "no-store");
	}
	assert_int_equal(fixture_metric(f, ACCEPTED), 0);
	fixture_shift_clock(f, CLOCK_US_PER_HOUR);
	assert_redirects(f, name, destination);
	assert_int_equal(fixture_metric(f, ACCEPTED), 1);
}

TEST_CASE(starts_a_link_in_memory_by_the_clock)
{
	struct fixture *f = *state;
	f->config.memory_ttl_ms = 2 * 3600 * 1000;
	follow_across_the_start(f, "start-memory");
	assert_int_equal(fixture_metric(f, FROM_POSTGRES), 1);
	assert_int_equal(fixture_metric(f, FROM_MEMORY), REQUESTS - 1);
}

TEST_CASE(starts_a_link_in_redis_by_the_clock)
{
	struct fixture *f = *state;
	follow_across_the_start(f, "start-redis");
	assert_int_equal(fixture_metric(f, FROM_POSTGRES), 1);
	assert_int_equal(fixture_metric(f, FROM_REDIS), REQUESTS - 1);
}

TEST_CASE(starts_a_link_in_postgres_by_the_clock)
{
	struct fixture *f = *state;
	set_redis(f, FIXTURE_UNREACHABLE_REDIS);
	follow_across_the_start(f, "start-postgres");
	assert_int_equal(fixture_metric(f, FROM_POSTGRES), REQUESTS);
}

TEST_CASE(works_without_redis)
{
	struct fixture *f = *state;
	set_redis(f, FIXTURE_UNREACHABLE_REDIS);
	fixture_add_link(f, "noredis");
	fixture_start(f);
	fixture_await_ready(f, true);
	for (int i = 0; i < 3; i++)
		assert_redirects(f, "noredis", "https://example.com/noredis");
	assert_int_equal(fixture_get_link(f, "noredis-unknown", ""), 404);
}

TEST_CASE(a_hung_redis_delays_only_briefly)
{
	struct fixture *f = *state;
	int silent = set_hung_redis(f);
	fixture_add_link(f, "frozen");
	fixture_start(f);
	fixture_await_ready(f, true);
	int64_t began_ms = http_fixture_now_ms();
	assert_redirects(f, "frozen", "https://example.com/frozen");
	test_speed_at_most(http_fixture_now_ms() - began_ms, 3000, "ms");
	close(silent);
}

TEST_CASE(serves_from_redis_without_postgres_and_never_answers_404)
{
	struct fixture *f = *state;
	set_postgres(f, FIXTURE_UNREACHABLE_PG);
	fixture_fill_redis(f, "nopg", 3, "from-redis");
	fixture_start(f);
	assert_redirects(f, "nopg", "https://example.com/from-redis");
	assert_int_equal(fixture_get_link(f, "nopg-cold", ""), 503);
	fixture_assert_header(f, "Retry-After", "2");
	fixture_await_ready(f, true);
	struct link_entry entry;
	assert_int_equal(fixture_read_redis(f, "nopg-cold", &entry), LINK_CACHE_MISS);
}

TEST_CASE(is_503_and_not_ready_when_no_store_can_answer)
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

TEST_CASE(remembers_an_unknown_slug_only_in_redis)
{
	struct fixture *f = *state;
	f->config.memory_ttl_ms = 60000;
	fixture_start(f);
	assert_int_equal(fixture_get_link(f, "later", ""), 404);
	struct link_entry entry;
	assert_int_equal(fixture_read_redis(f, "later", &entry), LINK_CACHE_UNKNOWN);

	/* PostgreSQL is not queried again … */
	fixture_add_link(f, "later");
	assert_int_equal(fixture_get_link(f, "later", ""), 404);
	assert_int_equal(fixture_metric(f, FROM_POSTGRES), 1);
	/* … until the creation of the link is written to Redis. */
	fixture_fill_redis(f, "later", 1, "later");
	assert_redirects(f, "later", "https://example.com/later");
}

TEST_CASE(does_not_overwrite_a_newer_version_in_redis)
{
	struct fixture *f = *state;
	fixture_add_link(f, "newer");
	fixture_fill_redis(f, "newer", 9, "nine");
	fixture_start(f);
	assert_redirects(f, "newer", "https://example.com/nine");
	struct link_entry entry;
	assert_int_equal(fixture_read_redis(f, "newer", &entry), LINK_CACHE_ENTRY);
	assert_int_equal(entry.version, 9);
}

TEST_CASE(skips_a_version_from_redis_that_is_older_than_one_seen)
{
	struct fixture *f = *state;
	fixture_add_link(f, "behind");
	fixture_change_link(f, "behind", "original_url = 'https://example.com/two'");
	fixture_start(f);
	assert_redirects(f, "behind", "https://example.com/two");
	fixture_delete_from_redis(f, "behind");
	fixture_fill_redis(f, "behind", 1, "one");
	struct link_entry entry = { 0 };
	/* A slow result of PostgreSQL is not written to Redis; a later one is. */
	int64_t until_us = clock_steady_us(clock_system()) + TEST_DEADLINE_US;
	do {
		assert_redirects(f, "behind", "https://example.com/two");
		assert_int_equal(fixture_read_redis(f, "behind", &entry), LINK_CACHE_ENTRY);
		test_pause();
	} while (entry.version != 2 && clock_steady_us(clock_system()) < until_us);
	assert_int_equal(entry.version, 2);
}

/* Another redirector read the link before its purge and writes it to Redis after our 404. */
TEST_CASE(a_purged_link_stays_404_despite_a_late_fill_of_redis)
{
	struct fixture *f = *state;
	fixture_add_link(f, "purged");
	fixture_start(f);
	assert_redirects(f, "purged", "https://example.com/purged");
	test_database_run(f->database, "DELETE FROM links WHERE slug LIKE '%purged'");
	fixture_delete_from_redis(f, "purged");
	assert_int_equal(fixture_get_link(f, "purged", ""), 404);
	fixture_delete_from_redis(f, "purged");
	fixture_fill_redis(f, "purged", 1, "purged");
	assert_int_equal(fixture_get_link(f, "purged", ""), 404);
}

TEST_CASE(serves_a_change_as_soon_as_redis_has_it)
{
	struct fixture *f = *state;
	fixture_add_link(f, "change");
	fixture_start(f);
	assert_redirects(f, "change", "https://example.com/change");
	fixture_fill_redis(f, "change", 2, "changed");
	assert_redirects(f, "change", "https://example.com/changed");
}

/* The others join while the leader waits for Redis, which times out. */
TEST_CASE(a_stampede_queries_postgres_once)
{
	enum { CROWD = 200 };
	struct fixture *f = *state;
	int silent = set_hung_redis(f);
	f->config.memory_ttl_ms = 60000;
	fixture_add_link(f, "stampede");
	fixture_start(f);

	char request[128];
	char slug[SLUG_SIZE];
	snprintf(request, sizeof(request), "GET /%s HTTP/1.1\r\nHost: a\r\n\r\n",
	         fixture_slug(f, "stampede", slug));
	int crowd[CROWD];
	for (int i = 0; i < CROWD; i++)
		crowd[i] = http_fixture_connect(&f->server);
	for (int i = 0; i < CROWD; i++)
		assert_true(http_fixture_send_text(crowd[i], request));
	for (int i = 0; i < CROWD; i++) {
		http_fixture_read_response(crowd[i], true, &f->answer);
		assert_int_equal(f->answer.status, 302);
		close(crowd[i]);
	}
	assert_int_equal(fixture_metric(f, FROM_POSTGRES), 1);
	assert_int_equal(fixture_metric(f, "waymark_events_accepted_total"), CROWD);
	close(silent);
}

/* A hung PostgreSQL must not delay requests that Redis can answer. */
TEST_CASE(a_hung_postgres_does_not_delay_hits_in_redis)
{
	struct fixture *f = *state;
	f->config.workers = 1;
	fixture_add_link(f, "hung");
	fixture_fill_redis(f, "warm", 1, "warm");
	fixture_start(f);
	fixture_await_ready(f, true);

	struct pg_conn *conn = test_database_connect(f->database, NULL);
	assert_int_equal(pg_conn_begin(conn), OK);
	assert_int_equal(
		pg_conn_query(conn, "LOCK TABLE links IN ACCESS EXCLUSIVE MODE", NULL, NULL), OK);
	char request[128];
	char slug[SLUG_SIZE];
	snprintf(request, sizeof(request), "GET /%s HTTP/1.1\r\nHost: a\r\n\r\n",
	         fixture_slug(f, "hung", slug));
	int waiting = http_fixture_connect(&f->server);
	assert_true(http_fixture_send_text(waiting, request));
	fixture_await_metric(f, "waymark_postgres_connections_busy", 1);

	assert_redirects(f, "warm", "https://example.com/warm");
	assert_true(fixture_metric(f, "waymark_link_lookups_pending") >=
	            1); /* the other lookup is still pending */
	pg_conn_rollback(conn);
	pg_conn_close(conn);
	http_fixture_read_response(waiting, true, &f->answer);
	/* On a busy machine the lock may have been held for longer than a lookup may take. */
	assert_true(f->answer.status == 302 || f->answer.status == 503);
	close(waiting);
}

TEST_CASE(serves_nothing_stale_when_redis_restarts_from_an_old_snapshot)
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
	for (int64_t began_ms = http_fixture_now_ms(); http_fixture_now_ms() - began_ms < 1000;) {
		assert_redirects(f, "snapshot", "https://example.com/new");
		test_pause();
	}
	test_announcer_resume(f->announcer);
	fixture_await_metric(f, "waymark_link_cache_valid", 1);
	assert_redirects(f, "snapshot", "https://example.com/new");
}

/* Without PostgreSQL the relay announces nothing. Redis must stay usable all the same. */
TEST_CASE_WITH(serves_from_redis_while_postgres_and_the_relay_are_down, fixture_set_up,
               fixture_tear_down)
{
	struct fixture *f = *state;
	set_postgres(f, FIXTURE_UNREACHABLE_PG);
	fixture_fill_redis(f, "silence", 3, "from-redis");
	fixture_start(f);
	test_announcer_pause(f->announcer);
	int64_t began_ms = http_fixture_now_ms();
	while (fixture_metric(f, "waymark_link_cache_valid") == 1) {
		assert_redirects(f, "silence", "https://example.com/from-redis");
		assert_true(http_fixture_now_ms() - began_ms < FIXTURE_TIMEOUT_MS);
		test_pause();
	}
	assert_redirects(f, "silence", "https://example.com/from-redis");
	test_announcer_resume(f->announcer);
}

/* Redis counts as invalid when it was polled 300 ms late. A slow clock rules that out. */
static int set_up(void **state)
{
	fixture_set_up(state);
	fixture_slow_clock(*state);
	return 0;
}

TEST_MAIN(.group_set_up = fixture_group_set_up, .group_tear_down = fixture_group_tear_down,
          .set_up = set_up, .tear_down = fixture_tear_down)
