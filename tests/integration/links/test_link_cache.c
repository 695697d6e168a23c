#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/entropy.h"
#include "lib/base/mem.h"
#include "lib/links/link_cache.h"
#include "tests/support/test.h"
#include "tests/support/test_announcer.h"
#include "tests/support/test_redis.h"

struct fixture {
	struct log *log;
	struct test_redis *server;
	struct test_announcer *announcer;
	struct redis_pool *redis;
	struct link_cache *cache;
	/* Unique to the test. */
	char slug[SLUG_SIZE];
	char key[SLUG_SIZE + 8];
};

static struct redis_pool *connect_to(const char *url, const struct log *log)
{
	const struct redis_pool_config config = {
		.url = url, .max = 4, .timeout_ms = 5000, .clock = clock_system(), .log = log
	};
	struct redis_pool *pool = NULL;
	assert_int_equal(redis_pool_new(&config, &pool), OK);
	return pool;
}

/* A hundred times slower, so that Redis is also valid if a busy machine polls it late. */
static int64_t slow_steady_us(const struct clock *self)
{
	(void)self;
	return clock_steady_us(clock_system()) / 100;
}

static int64_t slow_now_us(const struct clock *self)
{
	(void)self;
	return clock_now_us(clock_system());
}

static struct link_cache *new_cache(struct redis_pool *redis, const struct log *log)
{
	static const struct clock slow = { .now_us = slow_now_us, .steady_us = slow_steady_us };
	return link_cache_new(
		&(struct link_cache_config){ .redis = redis, .clock = &slow, .log = log });
}

static void await_valid(struct link_cache *cache)
{
	struct link_entry entry;
	int64_t until_us = clock_steady_us(clock_system()) + TEST_DEADLINE_US;
	while (link_cache_get(cache, "nobody's", &entry) == LINK_CACHE_UNAVAILABLE) {
		assert_true(clock_steady_us(clock_system()) < until_us);
		usleep(5000); /* poll interval */
	}
}

static int set_up(void **state)
{
	struct fixture *f = mem_zero(sizeof(*f));
	f->log = log_new("test", LOG_ERROR, 2);
	char url[TEST_REDIS_URL_SIZE];
	f->server = test_redis_new();
	test_redis_url(f->server, url);
	f->announcer = test_announcer_new(url);
	f->redis = connect_to(url, f->log);
	f->cache = new_cache(f->redis, f->log);
	entropy_text("abcdefghijklmnopqrstuvwxyz", f->slug, 20);
	snprintf(f->key, sizeof(f->key), "link:%s", f->slug);
	await_valid(f->cache);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	link_cache_free(f->cache);
	redis_pool_free(f->redis);
	test_announcer_free(f->announcer);
	test_redis_free(f->server);
	log_free(f->log);
	free(f);
	return 0;
}

static struct link_entry entry_of(const struct fixture *f, int64_t version)
{
	struct link_entry entry = {
		.id = 42,
		.version = version,
		.state = LINK_STATE_ACTIVE,
		.redirect_status = 302,
		.original_url = "https://example.com/a?b=c%20d",
	};
	memcpy(entry.slug, f->slug, sizeof(entry.slug));
	return entry;
}

static void put(struct fixture *f, const char *value, size_t len)
{
	const struct redis_arg args[] = { REDIS_TEXT("SET"), REDIS_TEXT(f->key), { value, len } };
	assert_int_equal(redis_pool_call(f->redis, args, 3, NULL, NULL), OK);
}

/* As a caller that changes the link or has read it. */
static enum err fill(struct fixture *f, const struct link_entry *entry)
{
	struct link_cache_reservation place;
	link_cache_reserve(f->cache, f->slug, &place);
	return link_cache_fill(f->cache, &place, entry);
}

static enum err fill_unknown(struct fixture *f)
{
	struct link_cache_reservation place;
	link_cache_reserve(f->cache, f->slug, &place);
	return link_cache_fill_unknown(f->cache, &place, f->slug);
}

static int64_t ttl_s(struct fixture *f)
{
	const struct redis_arg args[] = { REDIS_TEXT("TTL"), REDIS_TEXT(f->key) };
	struct redis_reply *reply = NULL;
	assert_int_equal(redis_pool_call(f->redis, args, 2, &reply, NULL), OK);
	int64_t ttl = redis_reply_int(reply);
	redis_reply_free(reply);
	return ttl;
}

static void assert_version(struct fixture *f, int64_t version)
{
	struct link_entry out = { 0 };
	assert_int_equal(link_cache_get(f->cache, f->slug, &out), LINK_CACHE_ENTRY);
	assert_int_equal(out.version, version);
}

static void assert_answer(struct fixture *f, enum link_cache_result wanted)
{
	struct link_entry out;
	assert_int_equal(link_cache_get(f->cache, f->slug, &out), wanted);
}

static void assert_round_trip(struct fixture *f, const struct link_entry *entry)
{
	struct link_entry out = { 0 };
	assert_int_equal(fill(f, entry), OK);
	assert_int_equal(link_cache_get(f->cache, f->slug, &out), LINK_CACHE_ENTRY);
	assert_memory_equal(&out, entry, sizeof(out));
}

TEST_CASE(misses_at_first)
{
	struct fixture *f = *state;
	struct link_entry out;
	assert_int_equal(link_cache_get(f->cache, f->slug, &out), LINK_CACHE_MISS);
}

TEST_CASE(returns_what_was_set)
{
	struct fixture *f = *state;
	struct link_entry entry = entry_of(f, 1);
	assert_round_trip(f, &entry);
	entry.version++;
	entry.state = LINK_STATE_DELETED;
	entry.expires_at_us = 1700000000123456;
	memcpy(entry.expired_url, "https://example.com/late", 25);
	assert_round_trip(f, &entry);
	entry.version++;
	entry.starts_at_us = 1600000000123456;
	assert_round_trip(f, &entry);
	entry.version++;
	entry.starts_at_us = 0;
	assert_round_trip(f, &entry);
}

TEST_CASE(returns_extras_aliases_and_blocks)
{
	struct fixture *f = *state;
	struct link_entry entry = entry_of(f, 1);
	entry.is_blocked = true;
	assert_round_trip(f, &entry);
	entry.version++;
	memcpy(entry.alias_of, "Main.name", 10);
	assert_round_trip(f, &entry);
	for (size_t i = 0; i < 256; i++)
		entry.extras[entry.extras_len++] = (uint8_t)i;
	entry.version++;
	assert_round_trip(f, &entry);
	entry.version++;
	entry.extras_len = 1;
	memset(entry.extras + 1, 0, 255);
	assert_round_trip(f, &entry);
}

/* A change that is only named must not be answered from, and must not leave the version before. */
TEST_CASE(an_entry_that_lacks_its_extras_removes_what_is_older_and_stores_nothing)
{
	struct fixture *f = *state;
	struct link_entry entry = entry_of(f, 4);
	entry.extras_len = 1;
	assert_int_equal(fill(f, &entry), OK);
	entry.lacks_extras = true;
	entry.extras_len = 0;
	assert_int_equal(link_cache_set(f->cache, &entry), ERR_CONFLICT);
	assert_version(f, 4);
	entry.version = 5;
	assert_int_equal(link_cache_set(f->cache, &entry), OK);
	assert_int_equal(ttl_s(f), -2); /* no such key */
	assert_int_equal(fill(f, &entry), OK);
	assert_int_equal(ttl_s(f), -2);
}

TEST_CASE(stores_the_largest_entry)
{
	struct fixture *f = *state;
	struct link_entry entry = entry_of(f, INT64_MAX);
	entry.id = entry.starts_at_us = entry.expires_at_us = INT64_MAX;
	memset(entry.original_url, 'u', LINK_URL_MAX);
	memset(entry.expired_url, 'e', LINK_URL_MAX);
	memset(entry.alias_of, 'a', SLUG_LENGTH_MAX);
	entry.extras_len = LINK_EXTRAS_BYTES_MAX;
	memset(entry.extras, '\0', LINK_EXTRAS_BYTES_MAX);
	assert_round_trip(f, &entry);
}

TEST_CASE(keeps_the_newer_version_in_any_order_of_writes)
{
	struct fixture *f = *state;
	const struct {
		int64_t version;
		enum err result;
		int64_t kept;
	} steps[] = {
		{ 5, OK, 5 },
		{ 4, ERR_CONFLICT, 5 },
		{ 5, ERR_CONFLICT, 5 },
		{ 9, OK, 9 },
		{ 10, OK, 10 },
		{ 9, ERR_CONFLICT, 10 },
		{ 100, OK, 100 },
		{ 99, ERR_CONFLICT, 100 },
		/* These are equal as doubles. */
		{ INT64_C(9007199254740992), OK, INT64_C(9007199254740992) },
		{ INT64_C(9007199254740993), OK, INT64_C(9007199254740993) },
		{ INT64_C(9007199254740992), ERR_CONFLICT, INT64_C(9007199254740993) },
	};
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		struct link_entry entry = entry_of(f, steps[i].version);
		entry.starts_at_us =
			(int64_t)(i / 2) % 2; /* both forms of values, after each other */
		assert_int_equal(fill(f, &entry), steps[i].result);
		assert_version(f, steps[i].kept);
	}
}

TEST_CASE(entries_expire_at_different_times_after_about_a_day)
{
	struct fixture *f = *state;
	int64_t least = INT64_MAX, most = 0;
	for (int i = 1; i <= 200; i++) {
		struct link_entry entry = entry_of(f, i);
		assert_int_equal(fill(f, &entry), OK);
		int64_t ttl = ttl_s(f);
		least = ttl < least ? ttl : least;
		most = ttl > most ? ttl : most;
	}
	assert_in_range(least, 77755, 82000);
	assert_in_range(most, 91000, 95041);
}

TEST_CASE(caches_an_unknown_slug_for_a_minute)
{
	struct fixture *f = *state;
	struct link_entry out;
	assert_int_equal(fill_unknown(f), OK);
	assert_int_equal(link_cache_get(f->cache, f->slug, &out), LINK_CACHE_UNKNOWN);
	assert_in_range(ttl_s(f), 50, LINK_CACHE_UNKNOWN_TTL_S);
}

TEST_CASE(a_new_link_replaces_unknown_but_a_late_unknown_replaces_nothing)
{
	struct fixture *f = *state;
	struct link_cache_reservation place;
	assert_int_equal(fill_unknown(f), OK);
	link_cache_reserve(f->cache, f->slug, &place);
	assert_int_equal(place.generation, 0);
	link_cache_reserve_for_change(f->cache, f->slug, &place);
	struct link_entry entry = entry_of(f, 1);
	assert_int_equal(link_cache_fill(f->cache, &place, &entry), OK);
	assert_version(f, 1);
	assert_true(ttl_s(f) > LINK_CACHE_UNKNOWN_TTL_S);
	/* The next caller reads from PostgreSQL, which is current. */
	assert_int_equal(link_cache_fill_unknown(f->cache, &place, f->slug), OK);
	assert_answer(f, LINK_CACHE_MISS);
}

/* A caller read it before the purge and stored it afterwards. 404 must not turn into 410 again. */
TEST_CASE(removes_the_entry_of_a_link_that_no_longer_exists)
{
	struct fixture *f = *state;
	struct link_cache_reservation place;
	link_cache_reserve(f->cache, f->slug, &place);
	struct link_entry entry = entry_of(f, 1);
	assert_int_equal(link_cache_fill(f->cache, &place, &entry), OK);
	link_cache_reserve(f->cache, f->slug, &place);
	assert_int_equal(place.generation, 0);
	assert_int_equal(link_cache_fill_unknown(f->cache, &place, f->slug), OK);
	assert_answer(f, LINK_CACHE_MISS);
}

TEST_CASE(set_replaces_an_unknown_slug)
{
	struct fixture *f = *state;
	assert_int_equal(fill_unknown(f), OK);
	assert_answer(f, LINK_CACHE_UNKNOWN);
	struct link_entry entry = entry_of(f, 1);
	assert_int_equal(link_cache_set(f->cache, &entry), OK);
	assert_answer(f, LINK_CACHE_MISS);
}

TEST_CASE(set_replaces_an_older_version_but_adds_nothing)
{
	struct fixture *f = *state;
	struct link_entry entry = entry_of(f, 4);
	assert_int_equal(link_cache_set(f->cache, &entry), OK);
	assert_answer(f, LINK_CACHE_MISS);
	assert_int_equal(fill(f, &entry), OK);
	entry.version = 3;
	assert_int_equal(link_cache_set(f->cache, &entry), ERR_CONFLICT);
	assert_version(f, 4);
	entry.version = 5;
	assert_int_equal(link_cache_set(f->cache, &entry), OK);
	assert_version(f, 5);
}

/* Redirectors with SLUG_CASE=exact would read it. */
TEST_CASE(a_folded_slug_leaves_nothing_under_its_exact_key)
{
	struct fixture *f = *state;
	struct link_entry before = entry_of(f, 1), after = entry_of(f, 2), out;
	struct link_cache_reservation place;
	char key[SLUG_KEY_SIZE];
	before.is_slug_exact = true;
	link_key(&before, key);
	link_cache_reserve(f->cache, key, &place);
	assert_int_equal(link_cache_fill(f->cache, &place, &before), OK);
	assert_int_equal(link_cache_get(f->cache, key, &out), LINK_CACHE_ENTRY);
	assert_int_equal(link_cache_set(f->cache, &after), OK);
	assert_int_equal(link_cache_get(f->cache, key, &out), LINK_CACHE_MISS);
	link_cache_reserve(f->cache, key, &place);
	assert_int_equal(link_cache_set(f->cache, &after), OK);
	assert_int_equal(link_cache_fill(f->cache, &place, &before), OK);
	assert_int_equal(link_cache_get(f->cache, key, &out), LINK_CACHE_MISS);
}

TEST_CASE(ignores_values_of_an_older_generation)
{
	struct fixture *f = *state;
	struct link_entry entry = entry_of(f, 9);
	assert_int_equal(fill(f, &entry), OK);
	char value[] = "5 0000000000 9 42 1 302 0 0 0 1 3 0 0 aabc", unknown[] = "? 00000000000";
	int64_t now = test_announcer_generation(f->announcer);
	int len = snprintf(value, sizeof(value), "5 %lld 9 42 1 302 0 0 0 1 3 0 0 aabc",
	                   (long long)now);
	put(f, value, (size_t)len);
	assert_version(f, 9);
	len = snprintf(value, sizeof(value), "5 %lld 9 42 1 302 0 0 0 1 3 0 0 aabc",
	               (long long)now - 1);
	put(f, value, (size_t)len);
	assert_answer(f, LINK_CACHE_MISS);
	len = snprintf(unknown, sizeof(unknown), "? %lld", (long long)now);
	put(f, unknown, (size_t)len);
	assert_answer(f, LINK_CACHE_UNKNOWN);
	len = snprintf(unknown, sizeof(unknown), "? %lld", (long long)now - 1);
	put(f, unknown, (size_t)len);
	assert_answer(f, LINK_CACHE_MISS);
	entry.version = 1;
	assert_int_equal(fill(f, &entry), OK);
	assert_version(f, 1);
}

/* G stands for the generation. */
static void put_now(struct fixture *f, const char *form, size_t len)
{
	char value[128];
	size_t used = 0;
	for (size_t i = 0; i < len; i++) {
		if (form[i] == 'G')
			used += (size_t)snprintf(
				value + used, sizeof(value) - used, "%lld",
				(long long)test_announcer_generation(f->announcer));
		else
			value[used++] = form[i];
	}
	put(f, value, used);
}

TEST_CASE(reads_each_number_of_a_value)
{
	struct fixture *f = *state;
	struct link_entry out;
	static const char value[] = "5 G 10 42 1 302 7 5 5 2 3 4 3 Ababcmain://\0\n5";
	put_now(f, value, sizeof(value) - 1);
	assert_int_equal(link_cache_get(f->cache, f->slug, &out), LINK_CACHE_ENTRY);
	assert_int_equal(out.version, 10);
	assert_int_equal(out.expires_at_us, 7);
	assert_int_equal(out.starts_at_us, 5);
	assert_true(out.is_slug_chosen);
	assert_false(out.is_slug_exact);
	assert_string_equal(out.slug, "Ab");
	assert_true(out.is_blocked);
	assert_string_equal(out.original_url, "abc");
	assert_string_equal(out.alias_of, "main");
	assert_string_equal(out.expired_url, "://");
	assert_int_equal(out.extras_len, 3);
	assert_memory_equal(out.extras, "\0\n5", 3);
}

TEST_CASE(ignores_and_replaces_values_in_another_format)
{
	struct fixture *f = *state;
	static const char *const values[] = {
		"",
		" ",
		"1",
		"1 ",
		"garbage",
		"?",
		"~ G 0123456789abcdef",
		"2 G 9 42 1 302 0 3 abc",
		"3 G 9 42 1 302 0 5 3 abc",
		"4 G 9 42 1 302 0 0 0 1 3 aabc",
		"6 G 9 42 1 302 0 0 0 1 3 0 0 aabc",
		"5G 9 42 1 302 0 0 0 1 3 0 0 aabc",
		"5",
		"5 G 9 42 1 302 0 -5 0 1 3 0 0 aabc",
		"5 G 9 42 1 302 0 0 0 1 4 0 0 aabc",
		"5 G 9 42 1 302 0 0 0 1 -1 0 0 aabc",
		"5 G 9 42 1 302 0 0 0 0 3 0 0 abc",
		"5 G 9 42 1 302 0 0 0 101 3 0 0 aabc",
		"5 G 9 42 1 302 0 0 0 1 3 1 0 aabc",
		"5 G 9 42 1 302 0 0 0 1 3 0 1 aabc",
		"5 G 9 42 1 302 0 0 0 1 3 101 0 aabc",
		"5 G 9 42 1 302 0 0 0 1 3 0 8193 aabc",
		"5 G 0 42 1 302 0 0 0 1 3 0 0 aabc",
		"5 G 9 0 1 302 0 0 0 1 3 0 0 aabc",
		"5 G 9 42 5 302 0 0 0 1 3 0 0 aabc",
		"5 G 9 42 1 200 0 0 0 1 3 0 0 aabc",
		"5 G 9 42 1 302 0 0 0 1 0 0 0 aabc",
		"5 G 9 42 1 302 0",
		"5 G 9 42 1 302 0 0 0 1 3 0 0",
		"5 G 9 x 1 302 0 0 0 1 3 0 0 aabc",
		"5 x 9 42 1 302 0 0 0 1 3 0 0 aabc",
		"5 G 99999999999999999999 42 1 302 0 0 0 1 3 0 0 aabc",
		"5 G 9 42 1 302 0 0 0 1 9223372036854775807 0 0 aabc",
		"5 G 9 42 1 302 0 0 0 1 3 0 9223372036854775807 aabc",
		"5 G 9 42 1 302 0 0 0 9223372036854775807 9223372036854775807 0 0 aabc",
	};
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		struct link_entry out = { .version = 77 };
		put_now(f, values[i], strlen(values[i]));
		if (link_cache_get(f->cache, f->slug, &out) != LINK_CACHE_MISS)
			fail_msg("read '%s' as an entry", values[i]);
		assert_int_equal(out.version, 77);
	}
	put_now(f, "5 G 9 42 1 302 0 0 0 1 3 0 0 aa\0b", 33);
	struct link_entry out;
	assert_int_equal(link_cache_get(f->cache, f->slug, &out), LINK_CACHE_MISS);
	put(f, "1 9 42 1 302 0 3 abc", 20);
	struct link_entry entry = entry_of(f, 1);
	assert_int_equal(fill(f, &entry), OK);
	assert_version(f, 1);
}

TEST_CASE(reports_that_redis_is_down)
{
	struct redis_pool *redis = connect_to("redis://127.0.0.1:1", NULL);
	struct link_cache *cache = new_cache(redis, NULL);
	struct link_cache_reservation place;
	struct link_entry entry = {
		.id = 1, .version = 1, .redirect_status = 302, .slug = "abc", .original_url = "u"
	};
	assert_int_equal(link_cache_get(cache, "abc", &entry), LINK_CACHE_UNAVAILABLE);
	assert_int_equal(link_cache_set(cache, &entry), ERR_UNAVAILABLE);
	link_cache_reserve(cache, "abc", &place);
	assert_int_equal(place.generation, 0);
	link_cache_free(cache);
	redis_pool_free(redis);
}

TEST_MAIN(.set_up = set_up, .tear_down = tear_down)
