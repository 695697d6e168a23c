/*
 * Nothing stale may be read, whatever happens to Redis. The tests use a real server that is
 * restarted from a snapshot, replaced by a replica, suspended, flushed, and limited to 1 MB.
 * test_announcer takes the role of the relay of links-api.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/entropy.h"
#include "lib/base/mem.h"
#include "lib/links/link_cache.h"
#include "lib/links/link_cache_validity.h"
#include "tests/integration/backend/backend_fixture.h"
#include "tests/support/test.h"
#include "tests/support/test_announcer.h"
#include "tests/support/test_redis.h"

#define SLUG "abc"
#define KEY "link:" SLUG
#define TIMEOUT_MS 1000

struct fixture {
	struct test_redis *server;
	struct tcp_proxy *proxy;
	char url[TEST_REDIS_URL_SIZE];
	struct test_announcer *announcer;
	struct redis_pool *pool;
	struct metrics *metrics;
	struct link_cache *cache;
};

static int64_t steady_us(void)
{
	return clock_steady_us(clock_system());
}

static struct redis_pool *new_pool(const char *url, int64_t timeout_ms)
{
	struct redis_pool *pool = NULL;
	const struct redis_pool_config config = {
		.url = url, .max = 4, .timeout_ms = timeout_ms, .clock = clock_system()
	};
	assert_int_equal(redis_pool_new(&config, &pool), OK);
	return pool;
}

static struct link_cache *new_cache(struct redis_pool *pool, struct metrics *metrics)
{
	return link_cache_new(&(struct link_cache_config){
		.redis = pool, .clock = clock_system(), .metrics = metrics });
}

static enum link_cache_result get(struct fixture *f)
{
	struct link_entry entry;
	return link_cache_get(f->cache, SLUG, &entry);
}

/* Waits until Redis is valid. On a busy machine it is not all the time. */
static enum link_cache_result await_valid(struct fixture *f)
{
	enum link_cache_result result;
	int64_t until_us = steady_us() + TEST_DEADLINE_US;
	while ((result = get(f)) == LINK_CACHE_UNAVAILABLE) {
		assert_true(steady_us() < until_us);
		test_pause();
	}
	return result;
}

static bool is_invalid(void *ctx)
{
	struct fixture *f = ctx;
	return backend_fixture_metric(f->metrics, "waymark_link_cache_valid") == 0;
}

static void await_invalid(struct fixture *f)
{
	backend_fixture_wait(is_invalid, f, TEST_DEADLINE_US / CLOCK_US_PER_MS);
}

static int set_up(void **state)
{
	struct fixture *f = mem_zero(sizeof(*f));
	f->server = test_redis_new();
	f->proxy = tcp_proxy_new(test_redis_port(f->server));
	snprintf(f->url, sizeof(f->url), "redis://127.0.0.1:%u",
	         (unsigned)tcp_proxy_port(f->proxy));
	f->announcer = test_announcer_new(f->url);
	f->pool = new_pool(f->url, TIMEOUT_MS);
	f->metrics = metrics_new();
	f->cache = new_cache(f->pool, f->metrics);
	await_valid(f);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	link_cache_free(f->cache);
	redis_pool_free(f->pool);
	metrics_free(f->metrics);
	test_announcer_free(f->announcer);
	tcp_proxy_free(f->proxy);
	test_redis_free(f->server);
	free(f);
	return 0;
}

static struct link_entry entry_of(int64_t version)
{
	struct link_entry entry = { .id = 42,
		                    .version = version,
		                    .state = LINK_STATE_ACTIVE,
		                    .redirect_status = 302,
		                    .slug = SLUG };
	snprintf(entry.original_url, sizeof(entry.original_url), "https://example.com/%lld",
	         (long long)version);
	return entry;
}

static void fill(struct fixture *f, int64_t version)
{
	struct link_cache_reservation reservation;
	struct link_entry entry = entry_of(version);
	int64_t until_us = steady_us() + TEST_DEADLINE_US;
	do {
		assert_true(steady_us() < until_us);
		link_cache_reserve(f->cache, SLUG, &reservation);
		enum err err = link_cache_fill(f->cache, &reservation, &entry);
		assert_true(err == OK || err == ERR_UNAVAILABLE);
	} while (await_valid(f) != LINK_CACHE_ENTRY);
}

static void change(struct fixture *f, int64_t version)
{
	struct link_entry entry = entry_of(version);
	assert_int_equal(link_cache_set(f->cache, &entry), OK);
}

/* Reads concurrently through an old and a new connection pool. */
static void assert_misses_for(struct fixture *f, int64_t ms)
{
	struct redis_pool *pool = new_pool(f->url, TIMEOUT_MS);
	struct link_cache *newcomer = new_cache(pool, NULL);
	struct link_entry entry;
	int64_t end_us = steady_us() + ms * CLOCK_US_PER_MS;
	for (; steady_us() < end_us; test_pause()) {
		assert_int_not_equal(get(f), LINK_CACHE_ENTRY);
		assert_int_not_equal(link_cache_get(newcomer, SLUG, &entry), LINK_CACHE_ENTRY);
	}
	link_cache_free(newcomer);
	redis_pool_free(pool);
}

static void assert_miss_once_redis_is_valid(struct fixture *f)
{
	assert_int_equal(await_valid(f), LINK_CACHE_MISS);
	fill(f, 2);
}

TEST_CASE(reads_nothing_from_a_server_restarted_from_an_old_snapshot)
{
	struct fixture *f = *state;
	fill(f, 1);
	test_redis_run(f->server, "SAVE");
	change(f, 2);
	test_announcer_pause(f->announcer);
	test_redis_restart(f->server);
	assert_int_equal(test_redis_run(f->server, "EXISTS " KEY), 1);
	assert_misses_for(f, 1500);
	test_announcer_resume(f->announcer);
	assert_miss_once_redis_is_valid(f);
}

TEST_CASE(reads_nothing_from_a_replica_that_was_promoted)
{
	struct fixture *f = *state;
	struct test_redis *replica = test_redis_new();
	char command[64];
	fill(f, 1);
	snprintf(command, sizeof(command), "REPLICAOF 127.0.0.1 %u",
	         (unsigned)test_redis_port(f->server));
	test_redis_run(replica, command);
	int64_t until_us = steady_us() + TEST_DEADLINE_US;
	for (; test_redis_run(replica, "EXISTS " KEY) == 0; test_pause())
		assert_true(steady_us() < until_us);
	test_redis_run(replica, "REPLICAOF NO ONE");
	change(f, 2);
	test_announcer_pause(f->announcer);
	tcp_proxy_set_target(f->proxy, test_redis_port(replica));
	tcp_proxy_cut(f->proxy);
	assert_int_equal(test_redis_run(replica, "EXISTS " KEY), 1);
	assert_misses_for(f, 1500);
	test_announcer_resume(f->announcer);
	assert_miss_once_redis_is_valid(f);
	test_redis_free(replica);
}

TEST_CASE(reads_nothing_from_a_resumed_server_before_the_relay_reaches_it)
{
	struct fixture *f = *state;
	fill(f, 1);
	test_announcer_pause(f->announcer);
	test_redis_freeze(f->server);
	await_invalid(f); /* then version 2 is committed, and no announcement can reach Redis */
	test_redis_thaw(f->server);
	assert_misses_for(f, 1000);
	test_announcer_raise_generation(f->announcer);
	test_announcer_resume(f->announcer);
	assert_miss_once_redis_is_valid(f);
}

/*
 * An announcement sent before Redis was suspended is executed when it resumes, and is outdated by
 * then.
 */
TEST_CASE(ignores_an_announcement_that_was_stuck_in_a_suspended_server)
{
	struct fixture *f = *state;
	struct redis_pool *relay = new_pool(f->url, TIMEOUT_MS);
	struct link_cache_validity_reply answer;
	int64_t generation = test_announcer_generation(f->announcer);
	fill(f, 1);
	test_announcer_pause(f->announcer);
	enum err err = link_cache_validity_announce(relay, generation, redis_pool_run_id(relay), 0,
	                                            &answer);
	assert_int_equal(err, OK);
	assert_int_equal(answer.status, LINK_CACHE_VALIDITY_LATE);
	test_redis_freeze(f->server);
	err = link_cache_validity_announce(relay, generation, answer.server, answer.now_us + 200000,
	                                   &answer);
	assert_int_equal(err, ERR_UNAVAILABLE);
	await_invalid(f);
	test_redis_thaw(f->server);
	assert_misses_for(f, 1000);
	redis_pool_free(relay);
}

TEST_CASE(ignores_a_generation_lower_than_the_current_one)
{
	struct fixture *f = *state;
	struct link_cache_validity_reply answer;
	enum err err = link_cache_validity_announce(f->pool, 1, redis_pool_run_id(f->pool),
	                                            INT64_MAX / 1024, &answer);
	assert_int_equal(err, OK);
	assert_int_equal(answer.status, LINK_CACHE_VALIDITY_BEHIND);
	assert_int_equal(answer.number, test_announcer_generation(f->announcer));
	fill(f, 1);
}

TEST_CASE(is_invalid_below_the_required_generation)
{
	struct fixture *f = *state;
	fill(f, 1);
	link_cache_require_generation(f->cache, test_announcer_generation(f->announcer) + 1);
	assert_int_equal(get(f), LINK_CACHE_UNAVAILABLE);
	test_announcer_raise_generation(f->announcer);
	assert_miss_once_redis_is_valid(f);
}

TEST_CASE(stays_valid_without_a_relay_for_4_s_and_then_only_as_a_last_resort)
{
	struct fixture *f = *state;
	struct link_entry entry;
	fill(f, 1);
	int64_t took_us = 0;
	/* On a busy machine Redis may become invalid sooner, because it is polled late. */
	for (int i = 0; i < 10 && took_us < 3 * CLOCK_US_PER_S; i++) {
		test_announcer_resume(f->announcer);
		assert_int_equal(await_valid(f), LINK_CACHE_ENTRY);
		test_announcer_pause(f->announcer);
		took_us = -steady_us();
		await_invalid(f);
		took_us += steady_us();
	}
	assert_true(took_us >= 3 * CLOCK_US_PER_S);
	test_speed_at_most(took_us, 5 * CLOCK_US_PER_S, "us");
	int64_t until_us = steady_us() + TEST_DEADLINE_US;
	for (; link_cache_get_last_resort(f->cache, SLUG, &entry) != LINK_CACHE_ENTRY; test_pause())
		assert_true(steady_us() < until_us);
	assert_int_equal(get(f), LINK_CACHE_UNAVAILABLE);
	test_announcer_resume(f->announcer);
	assert_int_equal(await_valid(f), LINK_CACHE_ENTRY);
}

TEST_CASE(another_server_is_not_a_last_resort)
{
	struct fixture *f = *state;
	struct link_entry entry;
	fill(f, 1);
	test_redis_run(f->server, "SAVE");
	test_announcer_pause(f->announcer);
	test_redis_restart(f->server);
	for (int64_t end_us = steady_us() + CLOCK_US_PER_S; steady_us() < end_us; test_pause())
		assert_int_equal(link_cache_get_last_resort(f->cache, SLUG, &entry),
		                 LINK_CACHE_UNAVAILABLE);
}

TEST_CASE(does_not_fill_after_a_flush_with_an_entry_read_before)
{
	struct fixture *f = *state;
	struct link_cache_reservation reservation;
	struct link_entry old = entry_of(1);
	do {
		await_valid(f);
		link_cache_reserve(f->cache, SLUG, &reservation);
	} while (reservation.generation == 0);
	test_redis_run(f->server, "FLUSHALL");
	assert_int_equal(link_cache_fill(f->cache, &reservation, &old), OK);
	assert_int_equal(test_redis_run(f->server, "EXISTS " KEY), 0);
	await_valid(f);
	fill(f, 2);
}

TEST_CASE(keeps_nothing_stale_when_memory_is_full)
{
	struct fixture *f = *state;
	fill(f, 1);
	test_redis_run(f->server, "CONFIG SET maxmemory 1");
	change(f, 2);
	assert_int_equal(test_redis_run(f->server, "EXISTS " KEY), 0);
	assert_int_equal(await_valid(f), LINK_CACHE_MISS);
	struct link_cache_reservation reservation;
	link_cache_reserve(f->cache, SLUG, &reservation);
	assert_int_equal(reservation.generation, 0);
	/* Announcements still work; otherwise the existing entries would be unusable. */
	struct link_cache_generation before, after;
	uint64_t server;
	assert_int_equal(link_cache_validity_read(f->pool, &before, &server), OK);
	int64_t until_us = steady_us() + TEST_DEADLINE_US;
	do {
		assert_true(steady_us() < until_us);
		assert_int_equal(link_cache_validity_read(f->pool, &after, &server), OK);
	} while (after.heartbeat == before.heartbeat);
}

#define CROWD 64

/* 4 KB each, so that a few hundred fill the memory of Redis. */
static struct link_entry large_entry(unsigned number, int64_t version)
{
	struct link_entry entry = entry_of(version);
	snprintf(entry.slug, sizeof(entry.slug), "s%u", number);
	memset(entry.original_url, 'u', 2048);
	memset(entry.expired_url, 'e', 2048);
	return entry;
}

TEST_CASE(reads_no_stale_version_while_entries_are_evicted)
{
	struct fixture *f = *state;
	int64_t changed_to[CROWD] = { 0 };
	unsigned hits = 0;
	int64_t until_us = steady_us() + TEST_DEADLINE_US;
	test_redis_run(f->server, "CONFIG SET maxmemory-policy allkeys-lru");
	test_redis_run(f->server, "CONFIG SET maxmemory 2mb");
	/* On a busy machine Redis is not valid all the time. */
	for (int i = 0; i < 20000 || (hits <= 100 && steady_us() < until_us); i++) {
		unsigned number = entropy_below(CROWD * 4);
		struct link_cache_reservation reservation;
		struct link_entry entry = large_entry(number, i + 1);
		if (number < CROWD && entropy_below(4) == 0) {
			enum err err = link_cache_set(f->cache, &entry);
			assert_true(err == OK || err == ERR_CONFLICT);
			changed_to[number] = i + 1;
		}
		enum link_cache_result answer = link_cache_get(f->cache, entry.slug, &entry);
		if (answer == LINK_CACHE_ENTRY && number < CROWD) {
			hits++;
			assert_true(entry.version >= changed_to[number]);
		}
		if (answer != LINK_CACHE_MISS)
			continue;
		link_cache_reserve(f->cache, entry.slug, &reservation);
		entry = large_entry(number, i + 1);
		enum err err = link_cache_fill(f->cache, &reservation, &entry);
		assert_true(err == OK || err == ERR_CONFLICT);
	}
	assert_true(hits > 100);
	assert_true(test_redis_run(f->server, "DBSIZE") <
	            (int64_t)CROWD * 4); /* some were evicted */
}

/* --- late fills --- */

typedef void (*late_fill)(struct fixture *f, const struct link_cache_reservation *reservation,
                          const struct link_entry *entry);

static void fill_reservation(struct fixture *f, const struct link_cache_reservation *reservation,
                             const struct link_entry *entry)
{
	enum err err = link_cache_fill(f->cache, reservation, entry);
	assert_true(err == OK || err == ERR_CONFLICT);
}

/* What a cache would do that only compares versions: write if nothing newer is there. */
static void fill_unless_newer(struct fixture *f, const struct link_cache_reservation *reservation,
                              const struct link_entry *entry)
{
	char value[LINK_URL_SIZE + SLUG_SIZE + 128];
	snprintf(value, sizeof(value), "5 %lld %lld 42 1 302 0 0 0 %zu %zu 0 0 %s%s",
	         (long long)reservation->generation, (long long)entry->version, strlen(entry->slug),
	         strlen(entry->original_url), entry->slug, entry->original_url);
	if (get(f) == LINK_CACHE_ENTRY)
		return;
	const struct redis_arg args[] = { REDIS_TEXT("SET"), REDIS_TEXT(KEY), REDIS_TEXT(value) };
	assert_int_equal(redis_pool_call(f->pool, args, 3, NULL, NULL), OK);
}

enum step { TELL_DELETION, EVICT, RESERVE_BY_ANOTHER, FILL_NEW_BY_ANOTHER, SAY_UNKNOWN_BY_ANOTHER };

/*
 * A reader reads version 1 and is suspended. Then the late_fill scenario happens. The reader
 * resumes and fills the cache. Counts how often version 1 can be read afterwards.
 */
static unsigned count_resurrections(struct fixture *f, late_fill late)
{
	static const enum step stories[][4] = {
		{ TELL_DELETION, EVICT, EVICT, EVICT },
		{ TELL_DELETION, TELL_DELETION, TELL_DELETION, TELL_DELETION },
		{ TELL_DELETION, EVICT, RESERVE_BY_ANOTHER, RESERVE_BY_ANOTHER },
		{ TELL_DELETION, EVICT, RESERVE_BY_ANOTHER, FILL_NEW_BY_ANOTHER },
		{ TELL_DELETION, EVICT, RESERVE_BY_ANOTHER, SAY_UNKNOWN_BY_ANOTHER },
		{ EVICT, RESERVE_BY_ANOTHER, TELL_DELETION, EVICT },
		{ EVICT, RESERVE_BY_ANOTHER, FILL_NEW_BY_ANOTHER, EVICT },
	};
	unsigned resurrections = 0;
	for (size_t i = 0; i < ARRAY_SIZE(stories); i++) {
		struct link_cache_reservation reservation, other = { 0 };
		struct link_entry old = entry_of(1), deleted = entry_of(2), out = { 0 };
		deleted.state = LINK_STATE_DELETED;
		test_redis_run(f->server, "DEL " KEY);
		link_cache_reserve(f->cache, SLUG, &reservation);
		for (size_t s = 0; s < 4; s++) {
			enum err err = OK;
			if (stories[i][s] == TELL_DELETION)
				err = link_cache_set(f->cache, &deleted);
			else if (stories[i][s] == EVICT)
				test_redis_run(f->server, "DEL " KEY);
			else if (stories[i][s] == RESERVE_BY_ANOTHER)
				link_cache_reserve(f->cache, SLUG, &other);
			else if (stories[i][s] == FILL_NEW_BY_ANOTHER)
				err = link_cache_fill(f->cache, &other, &deleted);
			else
				err = link_cache_fill_unknown(f->cache, &other, SLUG);
			assert_true(err == OK || err == ERR_CONFLICT);
		}
		late(f, &reservation, &old);
		resurrections += link_cache_get(f->cache, SLUG, &out) == LINK_CACHE_ENTRY &&
		                 out.version == 1;
	}
	return resurrections;
}

TEST_CASE(a_late_fill_never_resurrects_a_deleted_link)
{
	assert_int_equal(count_resurrections(*state, fill_reservation), 0);
}

TEST_CASE(control_comparing_only_versions_would_resurrect_links)
{
	assert_true(count_resurrections(*state, fill_unless_newer) > 0);
}

TEST_CASE(a_late_unknown_never_hides_a_new_link)
{
	struct fixture *f = *state;
	struct link_cache_reservation reservation;
	link_cache_reserve(f->cache, SLUG, &reservation);
	change(f, 1);
	assert_int_equal(link_cache_fill_unknown(f->cache, &reservation, SLUG), OK);
	assert_int_equal(await_valid(f), LINK_CACHE_MISS);
}

TEST_CASE(the_poll_waits_longer_for_redis_than_a_visitor)
{
	const struct fixture *f = *state;
	const int64_t visitor_ms = 30, until_us = steady_us() + TEST_DEADLINE_US;
	struct redis_pool *pool = new_pool(f->url, visitor_ms);
	struct link_cache_generation generation;
	uint64_t server;
	for (int64_t took_us = 0; took_us < 2 * visitor_ms * CLOCK_US_PER_MS;) {
		assert_true(steady_us() < until_us);
		/* A new connection would not be made during the pause. */
		if (link_cache_validity_read(pool, &generation, &server) != OK)
			continue;
		test_redis_run(f->server, "CLIENT PAUSE 100");
		int64_t began_us = steady_us();
		if (link_cache_validity_read(pool, &generation, &server) == OK)
			took_us = steady_us() - began_us;
	}
	redis_pool_free(pool);
}

TEST_MAIN(.set_up = set_up, .tear_down = tear_down)
