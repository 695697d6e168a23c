#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "services/redirector/lookup/pending_lookups.h"
#include "tests/support/test.h"

struct waiter {
	_Atomic int times;
	enum err result;
	int64_t version;
};

static void on_done(void *ctx, void *arg, enum err result, const struct link_entry *entry)
{
	(void)ctx;
	struct waiter *waiter = arg;
	waiter->result = result;
	waiter->version = entry ? entry->version : 0;
	atomic_fetch_add(&waiter->times, 1);
}

static struct pending_lookup *join(struct pending_lookups *table, const char *slug,
                                   struct waiter *waiter)
{
	return pending_lookups_join(table, slug, strlen(slug), 0, on_done, NULL, waiter);
}

TEST_CASE(one_leader_completes_all_waiters)
{
	struct pending_lookups *table = pending_lookups_new();
	struct waiter waiters[100] = { 0 };
	struct pending_lookup *lookup = join(table, "abc", &waiters[0]);
	assert_non_null(lookup);
	assert_string_equal(lookup->key, "abc");
	for (int i = 1; i < 100; i++)
		assert_null(join(table, "abc", &waiters[i]));
	struct link_entry entry = { .version = 6 };
	assert_true(pending_lookups_complete(table, lookup, OK, &entry));
	for (int i = 0; i < 100; i++) {
		assert_int_equal(waiters[i].times, 1);
		assert_int_equal(waiters[i].result, OK);
		assert_int_equal(waiters[i].version, 6);
	}
	assert_int_equal(pending_lookups_count(table), 0);
	pending_lookups_free(table);
}

TEST_CASE(each_slug_has_its_own_lookup)
{
	struct pending_lookups *table = pending_lookups_new();
	struct waiter a = { 0 }, b = { 0 };
	struct pending_lookup *first = join(table, "abc", &a);
	struct pending_lookup *second = join(table, "ABC", &b);
	assert_non_null(first);
	assert_non_null(second);
	assert_int_equal(pending_lookups_count(table), 2);
	assert_true(pending_lookups_complete(table, first, ERR_UNAVAILABLE, NULL));
	assert_int_equal(a.result, ERR_UNAVAILABLE);
	assert_int_equal(b.times, 0);
	assert_true(pending_lookups_complete(table, second, ERR_UNAVAILABLE, NULL));
	pending_lookups_free(table);
}

TEST_CASE(starts_a_new_lookup_after_completion)
{
	struct pending_lookups *table = pending_lookups_new();
	struct waiter a = { 0 }, b = { 0 };
	assert_true(pending_lookups_complete(table, join(table, "abc", &a), ERR_UNAVAILABLE, NULL));
	struct pending_lookup *again = join(table, "abc", &b);
	assert_non_null(again);
	assert_true(pending_lookups_complete(table, again, ERR_UNAVAILABLE, NULL));
	pending_lookups_free(table);
}

TEST_CASE(not_found_does_not_complete_waiters_that_joined_after_the_query)
{
	struct pending_lookups *table = pending_lookups_new();
	struct waiter early = { 0 }, late = { 0 };
	struct pending_lookup *lookup = join(table, "abc", &early);
	pending_lookups_start_query(table, lookup, 0);
	assert_null(join(table, "abc", &late)); /* may have seen the link's 201 meanwhile */
	assert_false(pending_lookups_complete(table, lookup, ERR_NOT_FOUND, NULL));
	assert_int_equal(early.times, 1);
	assert_int_equal(early.result, ERR_NOT_FOUND);
	assert_int_equal(late.times, 0);

	pending_lookups_start_query(table, lookup, 0);
	struct link_entry entry = { .version = 1 };
	assert_true(pending_lookups_complete(table, lookup, OK, &entry));
	assert_int_equal(early.times, 1);
	assert_int_equal(late.times, 1);
	assert_int_equal(late.result, OK);
	pending_lookups_free(table);
}

TEST_CASE(an_error_completes_late_waiters_too)
{
	struct pending_lookups *table = pending_lookups_new();
	struct waiter early = { 0 }, late = { 0 };
	struct pending_lookup *lookup = join(table, "abc", &early);
	pending_lookups_start_query(table, lookup, 0);
	assert_null(join(table, "abc", &late));
	assert_true(pending_lookups_complete(table, lookup, ERR_UNAVAILABLE, NULL));
	assert_int_equal(early.times, 1);
	assert_int_equal(late.times, 1);
	pending_lookups_free(table);
}

TEST_CASE(a_slow_result_does_not_complete_waiters_that_joined_long_after_the_query)
{
	struct pending_lookups *table = pending_lookups_new();
	struct waiter early = { 0 }, soon = { 0 }, late = { 0 };
	struct pending_lookup *lookup = join(table, "abc", &early);
	pending_lookups_start_query(table, lookup, 1000);
	assert_null(pending_lookups_join(table, "abc", 3, 1000 + PENDING_LOOKUPS_RESULT_MAX_AGE_US,
	                                 on_done, NULL, &soon));
	assert_null(pending_lookups_join(table, "abc", 3, 1001 + PENDING_LOOKUPS_RESULT_MAX_AGE_US,
	                                 on_done, NULL, &late));
	struct link_entry entry = { .version = 1 };
	assert_false(pending_lookups_complete(
		table, lookup, OK, &entry)); /* version 2 may have existed for half a second */
	assert_int_equal(early.times, 1);
	assert_int_equal(soon.times, 1);
	assert_int_equal(late.times, 0);

	pending_lookups_start_query(table, lookup, 2000 + PENDING_LOOKUPS_RESULT_MAX_AGE_US);
	entry.version = 2;
	assert_true(pending_lookups_complete(table, lookup, OK, &entry));
	assert_int_equal(late.times, 1);
	assert_int_equal(late.version, 2);
	pending_lookups_free(table);
}

#define THREADS 4
#define EACH 2000

struct crowd {
	struct pending_lookups *table;
	_Atomic int lookups;
	struct waiter waiters[THREADS][EACH];
};

struct member {
	struct crowd *crowd;
	int number;
};

static void *run_member(void *arg)
{
	struct member *member = arg;
	struct crowd *crowd = member->crowd;
	for (int i = 0; i < EACH; i++) {
		char slug[8];
		snprintf(slug, sizeof(slug), "s%d", i % 3);
		struct pending_lookup *lookup =
			join(crowd->table, slug, &crowd->waiters[member->number][i]);
		if (!lookup)
			continue;
		atomic_fetch_add(&crowd->lookups, 1);
		do
			pending_lookups_start_query(crowd->table, lookup, 0);
		while (!pending_lookups_complete(crowd->table, lookup, ERR_NOT_FOUND, NULL));
	}
	return NULL;
}

TEST_CASE(completes_every_waiter_exactly_once_under_concurrency)
{
	static struct crowd crowd;
	crowd.table = pending_lookups_new();
	pthread_t threads[THREADS];
	struct member members[THREADS];
	for (int i = 0; i < THREADS; i++) {
		members[i] = (struct member){ &crowd, i };
		assert_int_equal(pthread_create(&threads[i], NULL, run_member, &members[i]), 0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(pending_lookups_count(crowd.table), 0);
	for (int i = 0; i < THREADS; i++) {
		for (int j = 0; j < EACH; j++)
			assert_int_equal(crowd.waiters[i][j].times, 1);
	}
	assert_true(crowd.lookups >= 3);
	pending_lookups_free(crowd.table);
}

TEST_MAIN()
