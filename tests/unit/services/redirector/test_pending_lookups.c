#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>

#include "services/redirector/pending_lookups.h"

struct traveller {
	_Atomic int times;
	enum err result;
	int64_t version;
};

static void arrive(void *ctx, void *passenger, enum err result, const struct link_entry *entry)
{
	(void)ctx;
	struct traveller *traveller = passenger;
	traveller->result = result;
	traveller->version = entry ? entry->version : 0;
	atomic_fetch_add(&traveller->times, 1);
}

static struct pending_lookup *board(struct pending_lookups *table, const char *slug, struct traveller *traveller)
{
	return pending_lookups_join(table, slug, strlen(slug), 0, arrive, NULL, traveller);
}

static void lets_one_of_many_ask_and_tells_all(void **state)
{
	(void)state;
	struct pending_lookups *table = pending_lookups_new();
	struct traveller travellers[100] = { 0 };
	struct pending_lookup *flight = board(table, "abc", &travellers[0]);
	assert_non_null(flight);
	assert_string_equal(flight->slug, "abc");
	for (int i = 1; i < 100; i++)
		assert_null(board(table, "abc", &travellers[i]));
	struct link_entry entry = { .version = 6 };
	assert_true(pending_lookups_complete(table, flight, OK, &entry));
	for (int i = 0; i < 100; i++) {
		assert_int_equal(travellers[i].times, 1);
		assert_int_equal(travellers[i].result, OK);
		assert_int_equal(travellers[i].version, 6);
	}
	assert_int_equal(pending_lookups_count(table), 0);
	pending_lookups_free(table);
}

static void flies_each_slug_apart(void **state)
{
	(void)state;
	struct pending_lookups *table = pending_lookups_new();
	struct traveller a = { 0 }, b = { 0 };
	struct pending_lookup *first = board(table, "abc", &a);
	struct pending_lookup *second = board(table, "ABC", &b);
	assert_non_null(first);
	assert_non_null(second);
	assert_int_equal(pending_lookups_count(table), 2);
	assert_true(pending_lookups_complete(table, first, ERR_UNAVAILABLE, NULL));
	assert_int_equal(a.result, ERR_UNAVAILABLE);
	assert_int_equal(b.times, 0);
	assert_true(pending_lookups_complete(table, second, ERR_UNAVAILABLE, NULL));
	pending_lookups_free(table);
}

static void begins_anew_after_a_landing(void **state)
{
	(void)state;
	struct pending_lookups *table = pending_lookups_new();
	struct traveller a = { 0 }, b = { 0 };
	assert_true(pending_lookups_complete(table, board(table, "abc", &a), ERR_UNAVAILABLE, NULL));
	struct pending_lookup *again = board(table, "abc", &b);
	assert_non_null(again);
	assert_true(pending_lookups_complete(table, again, ERR_UNAVAILABLE, NULL));
	pending_lookups_free(table);
}

static void does_not_deny_a_slug_to_who_came_after_the_question(void **state)
{
	(void)state;
	struct pending_lookups *table = pending_lookups_new();
	struct traveller early = { 0 }, late = { 0 };
	struct pending_lookup *flight = board(table, "abc", &early);
	pending_lookups_start_query(table, flight, 0);
	assert_null(board(table, "abc", &late)); /* has seen the link's 201 meanwhile, perhaps */
	assert_false(pending_lookups_complete(table, flight, ERR_NOT_FOUND, NULL));
	assert_int_equal(early.times, 1);
	assert_int_equal(early.result, ERR_NOT_FOUND);
	assert_int_equal(late.times, 0);

	pending_lookups_start_query(table, flight, 0);
	struct link_entry entry = { .version = 1 };
	assert_true(pending_lookups_complete(table, flight, OK, &entry));
	assert_int_equal(early.times, 1);
	assert_int_equal(late.times, 1);
	assert_int_equal(late.result, OK);
	pending_lookups_free(table);
}

static void tells_late_comers_at_once_what_does_not_depend_on_when_they_came(void **state)
{
	(void)state;
	struct pending_lookups *table = pending_lookups_new();
	struct traveller early = { 0 }, late = { 0 };
	struct pending_lookup *flight = board(table, "abc", &early);
	pending_lookups_start_query(table, flight, 0);
	assert_null(board(table, "abc", &late));
	assert_true(pending_lookups_complete(table, flight, ERR_UNAVAILABLE, NULL));
	assert_int_equal(early.times, 1);
	assert_int_equal(late.times, 1);
	pending_lookups_free(table);
}

static void a_slow_answer_does_not_hold_for_who_came_long_after_the_question(void **state)
{
	(void)state;
	struct pending_lookups *table = pending_lookups_new();
	struct traveller early = { 0 }, soon = { 0 }, late = { 0 };
	struct pending_lookup *flight = board(table, "abc", &early);
	pending_lookups_start_query(table, flight, 1000);
	assert_null(
		pending_lookups_join(table, "abc", 3, 1000 + PENDING_LOOKUPS_RESULT_MAX_AGE_US, arrive, NULL, &soon));
	assert_null(
		pending_lookups_join(table, "abc", 3, 1001 + PENDING_LOOKUPS_RESULT_MAX_AGE_US, arrive, NULL, &late));
	struct link_entry entry = { .version = 1 };
	assert_false(pending_lookups_complete(table, flight, OK,
	                                      &entry)); /* version 2 may have been there for half a second */
	assert_int_equal(early.times, 1);
	assert_int_equal(soon.times, 1);
	assert_int_equal(late.times, 0);

	pending_lookups_start_query(table, flight, 2000 + PENDING_LOOKUPS_RESULT_MAX_AGE_US);
	entry.version = 2;
	assert_true(pending_lookups_complete(table, flight, OK, &entry));
	assert_int_equal(late.times, 1);
	assert_int_equal(late.version, 2);
	pending_lookups_free(table);
}

#define THREADS 4
#define EACH 2000

struct crowd {
	struct pending_lookups *table;
	_Atomic int flights;
	struct traveller travellers[THREADS][EACH];
};

struct member {
	struct crowd *crowd;
	int number;
};

static void *travel(void *arg)
{
	struct member *member = arg;
	struct crowd *crowd = member->crowd;
	for (int i = 0; i < EACH; i++) {
		char slug[8];
		snprintf(slug, sizeof(slug), "s%d", i % 3);
		struct pending_lookup *flight = board(crowd->table, slug, &crowd->travellers[member->number][i]);
		if (!flight)
			continue;
		atomic_fetch_add(&crowd->flights, 1);
		do
			pending_lookups_start_query(crowd->table, flight, 0);
		while (!pending_lookups_complete(crowd->table, flight, ERR_NOT_FOUND, NULL));
	}
	return NULL;
}

static void tells_everybody_exactly_once_in_a_crowd(void **state)
{
	(void)state;
	static struct crowd crowd;
	crowd.table = pending_lookups_new();
	pthread_t threads[THREADS];
	struct member members[THREADS];
	for (int i = 0; i < THREADS; i++) {
		members[i] = (struct member){ &crowd, i };
		assert_int_equal(pthread_create(&threads[i], NULL, travel, &members[i]), 0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(pending_lookups_count(crowd.table), 0);
	for (int i = 0; i < THREADS; i++) {
		for (int j = 0; j < EACH; j++)
			assert_int_equal(crowd.travellers[i][j].times, 1);
	}
	assert_true(crowd.flights >= 3);
	pending_lookups_free(crowd.table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lets_one_of_many_ask_and_tells_all),
		cmocka_unit_test(flies_each_slug_apart),
		cmocka_unit_test(begins_anew_after_a_landing),
		cmocka_unit_test(does_not_deny_a_slug_to_who_came_after_the_question),
		cmocka_unit_test(tells_late_comers_at_once_what_does_not_depend_on_when_they_came),
		cmocka_unit_test(a_slow_answer_does_not_hold_for_who_came_long_after_the_question),
		cmocka_unit_test(tells_everybody_exactly_once_in_a_crowd),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
