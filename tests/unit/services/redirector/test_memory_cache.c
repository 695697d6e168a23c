#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "services/redirector/cache/memory_cache.h"
#include "tests/support/test.h"

#define MIB ((size_t)1024 * 1024)
#define TTL_US INT64_C(1000000)

static struct link_entry numbered(int number, int64_t version)
{
	struct link_entry entry = {
		.id = number + 1,
		.version = version,
		.expires_at_us = number,
		.state = LINK_STATE_ACTIVE,
		.redirect_status = 302,
	};
	snprintf(entry.slug, sizeof(entry.slug), "s%06d", number);
	snprintf(entry.original_url, sizeof(entry.original_url),
	         "https://shop.example.com/catalogue/spring/items/%06d?from=mail", number);
	return entry;
}

static void put(struct memory_cache *cache, int number, int64_t version, int64_t at_us)
{
	struct link_entry entry = numbered(number, version);
	memory_cache_merge(cache, &entry, at_us);
}

static bool has(struct memory_cache *cache, int number, int64_t now_us)
{
	struct link_entry wanted = numbered(number, 1);
	struct link_entry out;
	return memory_cache_get(cache, wanted.slug, strlen(wanted.slug), now_us, &out) == OK;
}

TEST_CASE(returns_every_field_of_an_entry)
{
	struct memory_cache *cache = memory_cache_new(MIB, TTL_US);
	struct link_entry in = numbered(42, 9);
	in.state = LINK_STATE_DISABLED;
	in.redirect_status = 308;
	in.starts_at_us = INT64_MAX - 7;
	snprintf(in.expired_url, sizeof(in.expired_url), "https://example.com/over");
	memory_cache_merge(cache, &in, 0);

	struct link_entry out;
	memset(&out, 0x5a, sizeof(out));
	assert_int_equal(memory_cache_get(cache, in.slug, strlen(in.slug), 1, &out), OK);
	assert_int_equal(out.id, in.id);
	assert_int_equal(out.version, 9);
	assert_int_equal(out.starts_at_us, in.starts_at_us);
	assert_int_equal(out.expires_at_us, in.expires_at_us);
	assert_int_equal(out.state, LINK_STATE_DISABLED);
	assert_int_equal(out.redirect_status, 308);
	assert_string_equal(out.slug, in.slug);
	assert_string_equal(out.original_url, in.original_url);
	assert_string_equal(out.expired_url, in.expired_url);
	memory_cache_free(cache);
}

/* As many bytes of extras as the last argument says. */
static struct link_entry with_extras(int number, int64_t version, size_t extras_len)
{
	struct link_entry entry = numbered(number, version);
	entry.extras_len = (uint16_t)extras_len;
	memset(entry.extras, 0xe7, extras_len);
	return entry;
}

/* As the feed names a change of a link with extras. */
static struct link_entry lacking(int number, int64_t version)
{
	struct link_entry entry = numbered(number, version);
	entry.lacks_extras = true;
	return entry;
}

TEST_CASE(returns_the_extras_of_a_link_and_what_an_alias_leads_to)
{
	static const size_t lengths[] = { 0, 1, LINK_EXTRAS_BYTES_MAX };
	struct memory_cache *cache = memory_cache_new(MIB, TTL_US);
	for (int i = 0; i < 6; i++) {
		struct link_entry in = with_extras(i, 1, lengths[i / 2]), out;
		in.starts_at_us = i / 2;
		in.is_blocked = i % 2;
		if (i % 2)
			memset(in.alias_of, 'a', SLUG_LENGTH_MAX);
		memory_cache_merge(cache, &in, 0);
		memset(&out, 0x5a, sizeof(out));
		assert_int_equal(memory_cache_get(cache, in.slug, strlen(in.slug), 1, &out), OK);
		assert_int_equal(out.extras_len, in.extras_len);
		assert_memory_equal(out.extras, in.extras, in.extras_len);
		assert_string_equal(out.alias_of, in.alias_of);
		assert_string_equal(out.original_url, in.original_url);
		assert_int_equal(out.starts_at_us, in.starts_at_us);
		assert_int_equal(out.is_blocked, i % 2);
		assert_false(out.lacks_extras);
	}
	memory_cache_free(cache);
}

static size_t bytes_of_one(struct link_entry entry)
{
	struct memory_cache *cache = memory_cache_new(MIB, TTL_US);
	size_t empty = memory_cache_usage(cache).bytes;
	memory_cache_merge(cache, &entry, 0);
	size_t bytes = memory_cache_usage(cache).bytes - empty;
	memory_cache_free(cache);
	return bytes;
}

/* As the cache counts it. */
static size_t block_of(size_t bytes)
{
	void *block = mem_zero(bytes);
	size_t counted = malloc_usable_size(block) + 8;
	free(block);
	return counted;
}

/* What extras cost, only links that have some pay: a pointer, and a block of their own. */
TEST_CASE(a_plain_link_takes_65_bytes_and_its_texts)
{
	struct link_entry plain = numbered(1, 1);
	size_t texts = strlen(plain.slug) + strlen(plain.original_url);
	assert_int_equal(bytes_of_one(plain), block_of(65 + texts));
	plain.is_blocked = true;
	assert_int_equal(bytes_of_one(plain), block_of(65 + texts));
	size_t extras = bytes_of_one(with_extras(1, 1, 1000));
	assert_int_equal(extras, block_of(65 + texts + sizeof(void *)) + block_of(1004));
	assert_true(bytes_of_one(lacking(1, 1)) <= block_of(72));
}

TEST_CASE(counts_extras_into_its_byte_limit)
{
	enum { COUNT = 2000 };
	struct memory_cache *cache = memory_cache_new(MIB, TTL_US);
	for (int i = 0; i < COUNT; i++) {
		struct link_entry entry = with_extras(i, 1, (size_t)i % LINK_EXTRAS_BYTES_MAX);
		memory_cache_merge(cache, &entry, 0);
		assert_true(memory_cache_usage(cache).bytes <= MIB);
	}
	assert_in_range(memory_cache_usage(cache).entries, 100, COUNT / 2);
	memory_cache_free(cache);
}

static void assert_answers(struct memory_cache *cache, bool answers)
{
	struct link_entry out;
	enum err wanted = answers ? OK : ERR_NOT_FOUND;
	assert_int_equal(memory_cache_get(cache, "s000001", 7, 1, &out), wanted);
	assert_int_equal(memory_cache_get_stale(cache, "s000001", 7, &out), wanted);
}

/* It may be behind a password. */
TEST_CASE(never_answers_from_an_entry_that_lacks_its_extras)
{
	struct memory_cache *cache = memory_cache_new(MIB, TTL_US);
	struct link_entry first = with_extras(1, 4, 10), change = lacking(1, 5);
	memory_cache_merge(cache, &first, 0);
	assert_answers(cache, true);
	memory_cache_apply_change(cache, &change);
	assert_answers(cache, false);
	assert_int_equal(memory_cache_version(cache, "s000001", 7), 5);
	/* The version before it does not answer either, and its reader learns that it is old. */
	memory_cache_merge(cache, &first, 0);
	assert_true(first.lacks_extras);
	assert_int_equal(first.version, 5);
	assert_answers(cache, false);

	struct link_entry whole = with_extras(1, 5, 10), plain = numbered(1, 6);
	memory_cache_merge(cache, &whole, 0);
	assert_answers(cache, true);
	/* The same event again, as after a restart of the relay. */
	memory_cache_apply_change(cache, &change);
	assert_answers(cache, true);
	memory_cache_apply_change(cache, &plain);
	assert_answers(cache, true);
	assert_int_equal(memory_cache_usage(cache).entries, 1);
	memory_cache_free(cache);
}

TEST_CASE(a_purged_link_is_deleted_at_the_next_version_whatever_it_had)
{
	struct memory_cache *cache = memory_cache_new(MIB, TTL_US);
	struct link_entry changed = lacking(1, 5), out;
	memory_cache_set_purged(cache, "s000001", 7, 0);
	assert_int_equal(memory_cache_version(cache, "s000001", 7), 0);
	put(cache, 1, 4, 0);
	memory_cache_apply_change(cache, &changed);
	memory_cache_set_purged(cache, "s000001", 7, 0);
	assert_int_equal(memory_cache_get(cache, "s000001", 7, 1, &out), OK);
	assert_int_equal(out.state, LINK_STATE_DELETED);
	assert_int_equal(out.version, 6);
	assert_string_equal(out.slug, "s000001");
	assert_int_equal(out.extras_len, 0);
	memory_cache_free(cache);
}

TEST_CASE(a_newer_version_without_a_start_has_none)
{
	struct memory_cache *cache = memory_cache_new(MIB, TTL_US);
	struct link_entry entry = numbered(42, 1), out;
	entry.starts_at_us = 1;
	memory_cache_merge(cache, &entry, 0);
	entry.version = 2;
	entry.starts_at_us = 0;
	memory_cache_apply_change(cache, &entry);
	memset(&out, 0x5a, sizeof(out));
	assert_int_equal(memory_cache_get(cache, entry.slug, strlen(entry.slug), 1, &out), OK);
	assert_int_equal(out.version, 2);
	assert_int_equal(out.starts_at_us, 0);
	memory_cache_free(cache);
}

TEST_CASE(stores_the_longest_and_the_shortest_entry)
{
	struct memory_cache *cache = memory_cache_new(MIB, TTL_US);
	struct link_entry longest = { .id = 1, .version = 1, .state = LINK_STATE_ACTIVE };
	memset(longest.slug, 'a', SLUG_LENGTH_MAX);
	memset(longest.original_url, 'b', LINK_URL_MAX);
	memset(longest.expired_url, 'c', LINK_URL_MAX);
	struct link_entry shortest = {
		.id = 2, .version = 1, .state = LINK_STATE_ACTIVE, .slug = "a"
	};
	memory_cache_merge(cache, &longest, 0);
	memory_cache_merge(cache, &shortest, 0);

	struct link_entry out;
	assert_int_equal(memory_cache_get(cache, longest.slug, SLUG_LENGTH_MAX, 1, &out), OK);
	assert_memory_equal(&out.original_url, longest.original_url, sizeof(out.original_url));
	assert_memory_equal(&out.expired_url, longest.expired_url, sizeof(out.expired_url));
	assert_int_equal(memory_cache_get(cache, "a", 1, 1, &out), OK);
	assert_string_equal(out.original_url, "");
	memory_cache_free(cache);
}

TEST_CASE(distinguishes_slugs_with_a_common_prefix)
{
	struct memory_cache *cache = memory_cache_new(MIB, TTL_US);
	struct link_entry entry = {
		.id = 1, .version = 1, .state = LINK_STATE_ACTIVE, .slug = "abc"
	};
	memory_cache_merge(cache, &entry, 0);
	struct link_entry out;
	assert_int_equal(memory_cache_get(cache, "ab", 2, 1, &out), ERR_NOT_FOUND);
	assert_int_equal(memory_cache_get(cache, "abcd", 4, 1, &out), ERR_NOT_FOUND);
	assert_int_equal(memory_cache_get(cache, "ABC", 3, 1, &out), ERR_NOT_FOUND);
	/* a slug inside a path is not followed by a NUL */
	assert_int_equal(memory_cache_get(cache, "abc/x", 3, 1, &out), OK);
	memory_cache_free(cache);
}

TEST_CASE(an_entry_expires_but_its_version_is_kept)
{
	struct memory_cache *cache = memory_cache_new(MIB, TTL_US);
	put(cache, 1, 4, 500);
	assert_true(has(cache, 1, 500 + TTL_US - 1));
	assert_false(has(cache, 1, 500 + TTL_US));
	assert_int_equal(memory_cache_version(cache, "s000001", 7), 4);
	assert_int_equal(memory_cache_version(cache, "s000002", 7), 0);
	memory_cache_free(cache);
}

TEST_CASE(is_fresh_again_when_a_store_returns_the_same_version)
{
	struct memory_cache *cache = memory_cache_new(MIB, TTL_US);
	put(cache, 1, 4, 0);
	put(cache, 1, 4, TTL_US);
	assert_true(has(cache, 1, 2 * TTL_US - 1));
	/* a delayed result of an earlier query does not make it older */
	put(cache, 1, 4, 10);
	assert_true(has(cache, 1, 2 * TTL_US - 1));
	assert_int_equal(memory_cache_usage(cache).entries, 1);
	memory_cache_free(cache);
}

TEST_CASE(never_goes_back_to_an_older_version)
{
	struct memory_cache *cache = memory_cache_new(MIB, TTL_US);
	struct link_entry newer = numbered(1, 5);
	snprintf(newer.original_url, sizeof(newer.original_url), "https://example.com/newer");
	memory_cache_merge(cache, &newer, 0);

	struct link_entry late = numbered(1, 4);
	memory_cache_merge(cache, &late, TTL_US);
	assert_int_equal(late.version, 5);
	assert_string_equal(late.original_url, "https://example.com/newer");
	/* a read of the older version does not make the newer one fresh */
	assert_false(has(cache, 1, TTL_US));
	memory_cache_free(cache);
}

TEST_CASE(replaces_an_older_version)
{
	struct memory_cache *cache = memory_cache_new(MIB, TTL_US);
	put(cache, 1, 4, 0);
	size_t bytes = memory_cache_usage(cache).bytes;
	put(cache, 1, 5, 0);
	assert_int_equal(memory_cache_version(cache, "s000001", 7), 5);
	assert_int_equal(memory_cache_usage(cache).entries, 1);
	assert_int_equal(memory_cache_usage(cache).bytes, bytes);
	memory_cache_free(cache);
}

TEST_CASE(never_exceeds_its_byte_limit)
{
	struct memory_cache *cache = memory_cache_new(MIB, TTL_US);
	for (int i = 0; i < 50000; i++) {
		put(cache, i, 1, 0);
		if (i % 1000 == 0)
			assert_true(memory_cache_usage(cache).bytes <= MIB);
	}
	struct memory_cache_usage usage = memory_cache_usage(cache);
	assert_true(usage.bytes <= MIB);
	assert_true(usage.bytes >= MIB * 9 / 10);
	assert_int_equal(usage.entries + usage.evictions, 50000);
	memory_cache_free(cache);
}

TEST_CASE(uses_few_bytes_per_link)
{
	struct memory_cache *cache = memory_cache_new(64 * MIB, TTL_US);
	for (int i = 0; i < 100000; i++)
		put(cache, i, 1, 0);
	struct memory_cache_usage usage = memory_cache_usage(cache);
	assert_int_equal(usage.entries, 100000);

	struct memory_cache *empty = memory_cache_new(64 * MIB, TTL_US);
	size_t tables = memory_cache_usage(empty).bytes;
	size_t per_link = (usage.bytes - tables) / usage.entries;
	print_message("%zu bytes per link with a URL of %zu bytes, without tables\n", per_link,
	              strlen(numbered(0, 1).original_url));
	assert_true(per_link <= 160);
	memory_cache_free(empty);
	memory_cache_free(cache);
}

TEST_CASE(a_scan_does_not_evict_links_requested_repeatedly)
{
	enum { HOT = 2000, SCAN = 100000 };
	struct memory_cache *cache = memory_cache_new(MIB, TTL_US);
	for (int i = 0; i < HOT; i++)
		put(cache, i, 1, 0);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < HOT; i++)
			has(cache, i, 1);
	}
	for (int i = HOT; i < HOT + SCAN; i++)
		put(cache, i, 1, 0);
	int kept = 0;
	for (int i = 0; i < HOT; i++)
		kept += has(cache, i, 1);
	assert_true(kept >= HOT * 95 / 100);
	memory_cache_free(cache);
}

static bool is_known(struct memory_cache *cache, int number)
{
	struct link_entry wanted = numbered(number, 1);
	return memory_cache_version(cache, wanted.slug, strlen(wanted.slug)) !=
	       0; /* does not count as a hit */
}

TEST_CASE(a_link_that_returns_soon_enters_the_main_queue)
{
	struct memory_cache *cache = memory_cache_new(MIB, TTL_US);
	int next = 1;
	for (put(cache, 0, 1, 0); is_known(cache, 0); next++)
		put(cache, next, 1, 0);
	/* its ghost is remembered: new links no longer displace it, although it gets no hits */
	put(cache, 0, 1, 0);
	int new_links = next;
	for (int i = 0; i < new_links; i++)
		put(cache, next++, 1, 0);
	assert_true(is_known(cache, 0));
	memory_cache_free(cache);
}

#define WRITERS 3
#define VERSIONS 20000

struct race {
	struct memory_cache *cache;
	_Atomic int64_t next_version;
};

static void *write_versions(void *arg)
{
	struct race *race = arg;
	int64_t version;
	while ((version = atomic_fetch_add(&race->next_version, 1)) < VERSIONS) {
		put(race->cache, 1, version, 0);
		put(race->cache, (int)(version % 5000) + 2, version, 0);
	}
	return NULL;
}

TEST_CASE(a_reader_never_sees_versions_go_back_during_writes)
{
	struct race race = { .cache = memory_cache_new(MIB, TTL_US), .next_version = 1 };
	pthread_t writers[WRITERS];
	for (int i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_create(&writers[i], NULL, write_versions, &race), 0);
	int64_t seen = 0;
	struct link_entry out;
	while (atomic_load(&race.next_version) < VERSIONS) {
		if (memory_cache_get(race.cache, "s000001", 7, 1, &out) == OK) {
			assert_true(out.version >= seen);
			assert_string_equal(out.slug, "s000001");
			seen = out.version;
		}
	}
	for (int i = 0; i < WRITERS; i++)
		pthread_join(writers[i], NULL);
	assert_true(seen > 0);
	memory_cache_free(race.cache);
}

TEST_MAIN()
