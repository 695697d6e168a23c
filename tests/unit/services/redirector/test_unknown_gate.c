#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "services/redirector/unknown_gate.h"

#define NOW_US (1000000 * CLOCK_US_PER_S)
#define MS CLOCK_US_PER_MS
#define WAITING_MAX 20

/* A gate whose filter is complete and has "there", whose feed is fresh, and whose budget is spent. */
struct world {
	struct clock_fake clock;
	struct feed_progress progress;
	struct slug_filter *filter;
	struct metrics *metrics;
	struct unknown_gate *gate;
	enum err told[WAITING_MAX + 1]; /* outlives the test: the end tells everybody */
};

static void mark_as_of(struct world *w, int64_t as_of_us)
{
	struct feed_mark m = { .as_of_us = as_of_us, .partitions = 1 };
	feed_progress_mark(&w->progress, 0, &m);
}

static int64_t now(struct world *w)
{
	return clock_now_us(&w->clock.clock);
}

static void complete(struct world *w)
{
	slug_filter_set_complete(w->filter, atomic_load(&w->progress.covered_since_us));
}

static void build(struct world *w, int64_t queries_per_second)
{
	w->gate = unknown_gate_new(&(struct unknown_gate_config){
		.filter = w->filter,
		.progress = &w->progress,
		.queries_per_second = queries_per_second,
		.waiting_max = WAITING_MAX,
		.clock = &w->clock.clock,
		.metrics = w->metrics,
	});
}

static int set_up(void **state)
{
	static struct world w;
	clock_fake_init(&w.clock, NOW_US);
	feed_progress_init(&w.progress, &w.clock.clock);
	feed_progress_found(&w.progress, 1);
	mark_as_of(&w, NOW_US);
	w.filter = slug_filter_new(1000);
	slug_filter_add(w.filter, "there", 5);
	complete(&w);
	w.metrics = metrics_new();
	build(&w, 0);
	*state = &w;
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;
	unknown_gate_close(w->gate);
	unknown_gate_free(w->gate);
	slug_filter_free(w->filter);
	feed_progress_clear(&w->progress);
	metrics_free(w->metrics);
	return 0;
}

#define NOT_TOLD ERR_CONFLICT

static void take_verdict(void *visitor, enum err verdict)
{
	enum err *told = visitor;
	assert_int_equal(*told, NOT_TOLD);
	*told = verdict;
}

static bool hold(struct world *w, const char *slug, enum err *told)
{
	*told = NOT_TOLD;
	return unknown_gate_hold(w->gate, slug, take_verdict, told);
}

static void denies_a_slug_once_the_feed_has_come_to_its_arrival(void **state)
{
	struct world *w = *state;
	assert_true(hold(w, "none", &w->told[0]));
	unknown_gate_advance(w->gate);
	assert_int_equal(w->told[0], NOT_TOLD);
	clock_fake_advance(&w->clock, 300 * MS);
	mark_as_of(w, NOW_US + UNKNOWN_GATE_CLOCK_SKEW_US - 1);
	unknown_gate_advance(w->gate);
	assert_int_equal(w->told[0], NOT_TOLD);
	mark_as_of(w, NOW_US + UNKNOWN_GATE_CLOCK_SKEW_US);
	unknown_gate_advance(w->gate);
	assert_int_equal(w->told[0], ERR_NOT_FOUND);
}

static void a_slug_whose_event_comes_meanwhile_is_asked_about(void **state)
{
	struct world *w = *state;
	assert_true(hold(w, "new", &w->told[0]));
	slug_filter_add(w->filter, "new", 3);
	clock_fake_advance(&w->clock, 300 * MS);
	mark_as_of(w, now(w));
	unknown_gate_advance(w->gate);
	assert_int_equal(w->told[0], ERR_UNAVAILABLE);
}

static void does_not_hold_what_may_be_there(void **state)
{
	struct world *w = *state;
	assert_false(hold(w, "there", &w->told[0]));
}

static void holds_nobody_while_it_cannot_tell(void **state)
{
	struct world *w = *state;
	clock_fake_advance(&w->clock, FEED_PROGRESS_FRESH_US + 1);
	assert_false(hold(w, "none", &w->told[0]));
	mark_as_of(w, now(w));
	assert_true(hold(w, "none", &w->told[0]));
	feed_progress_lost(&w->progress, 0);
	clock_fake_advance(&w->clock, 1);
	mark_as_of(w, now(w));
	assert_false(hold(w, "none", &w->told[1]));
	complete(w);
	assert_true(hold(w, "none", &w->told[1]));
}

static void holds_nobody_with_an_overfull_filter(void **state)
{
	struct world *w = *state;
	for (char slug[3] = "aa"; slug[0] <= 'z'; slug[0]++) {
		for (slug[1] = '!'; slug[1] <= '~'; slug[1]++)
			slug_filter_add(w->filter, slug, 2);
	}
	assert_true(slug_filter_is_overfull(w->filter));
	assert_false(hold(w, "none at all", &w->told[0]));
}

static void who_waits_in_vain_is_asked_about(void **state)
{
	struct world *w = *state;
	assert_true(hold(w, "none", &w->told[0]));
	clock_fake_advance(&w->clock, UNKNOWN_GATE_PATIENCE_US - 1);
	unknown_gate_advance(w->gate);
	assert_int_equal(w->told[0], NOT_TOLD);
	clock_fake_advance(&w->clock, 1);
	unknown_gate_advance(w->gate);
	assert_int_equal(w->told[0], ERR_UNAVAILABLE);
}

static void a_gap_in_the_feed_while_somebody_waits_decides_nothing(void **state)
{
	struct world *w = *state;
	assert_true(hold(w, "none", &w->told[0]));
	feed_progress_lost(&w->progress, 0);
	clock_fake_advance(&w->clock, 300 * MS);
	mark_as_of(w, now(w));
	unknown_gate_advance(w->gate);
	assert_int_equal(w->told[0], ERR_UNAVAILABLE);
}

static void holds_no_more_than_its_bound_and_lets_them_go_in_small_groups(void **state)
{
	struct world *w = *state;
	for (int i = 0; i < WAITING_MAX; i++)
		assert_true(hold(w, "none", &w->told[i]));
	assert_false(hold(w, "none", &w->told[WAITING_MAX]));
	clock_fake_advance(&w->clock, 300 * MS);
	mark_as_of(w, now(w));
	assert_true(unknown_gate_advance(w->gate));
	assert_int_equal(w->told[UNKNOWN_GATE_RUN_MAX - 1], ERR_NOT_FOUND);
	assert_int_equal(w->told[UNKNOWN_GATE_RUN_MAX], NOT_TOLD);
	assert_false(unknown_gate_advance(w->gate));
	for (int i = 0; i < WAITING_MAX; i++)
		assert_int_equal(w->told[i], ERR_NOT_FOUND);
	assert_true(hold(w, "none", &w->told[WAITING_MAX]));
}

static void asks_about_as_many_as_the_budget_allows(void **state)
{
	struct world *w = *state;
	unknown_gate_close(w->gate);
	unknown_gate_free(w->gate);
	metrics_free(w->metrics);
	w->metrics = metrics_new();
	build(w, 2);
	assert_true(hold(w, "none", &w->told[0]));
	clock_fake_advance(&w->clock, 500 * MS);
	mark_as_of(w, now(w));
	assert_false(hold(w, "none", &w->told[1]));
	assert_true(hold(w, "none", &w->told[2]));
	/* An hour saves no more than a second does. */
	clock_fake_advance(&w->clock, CLOCK_US_PER_HOUR);
	mark_as_of(w, now(w));
	assert_false(hold(w, "none", &w->told[3]));
	assert_false(hold(w, "none", &w->told[4]));
	assert_true(hold(w, "none", &w->told[5]));
}

static void the_end_tells_everybody(void **state)
{
	struct world *w = *state;
	assert_true(hold(w, "none", &w->told[0]));
	unknown_gate_close(w->gate);
	assert_int_equal(w->told[0], ERR_UNAVAILABLE);
	assert_false(hold(w, "none", &w->told[1]));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(denies_a_slug_once_the_feed_has_come_to_its_arrival),
		TEST(a_slug_whose_event_comes_meanwhile_is_asked_about),
		TEST(does_not_hold_what_may_be_there),
		TEST(holds_nobody_while_it_cannot_tell),
		TEST(holds_nobody_with_an_overfull_filter),
		TEST(who_waits_in_vain_is_asked_about),
		TEST(a_gap_in_the_feed_while_somebody_waits_decides_nothing),
		TEST(holds_no_more_than_its_bound_and_lets_them_go_in_small_groups),
		TEST(asks_about_as_many_as_the_budget_allows),
		TEST(the_end_tells_everybody),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
