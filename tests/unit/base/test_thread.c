#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include <stdatomic.h>

#include "lib/base/background.h"
#include "lib/base/clock.h"

#define LONG_MS 60000
#define SHORT_MS 20

struct work {
	struct background *background;
	int64_t pause_ms;
	_Atomic int iterations;
	_Atomic bool has_stopped;
};

static void work(void *ctx)
{
	struct work *w = ctx;
	do
		atomic_fetch_add(&w->iterations, 1);
	while (!background_wait_ms(w->background, w->pause_ms));
	assert_true(background_is_ending(w->background));
	atomic_store(&w->has_stopped, true);
}

static void runs_until_a_stop_is_requested(void **state)
{
	(void)state;
	struct work w = { .background = background_new(), .pause_ms = 1 };
	background_start(w.background, "test", work, &w);
	while (atomic_load(&w.iterations) < 3)
		assert_false(background_is_ending(w.background));
	background_end(w.background);
	assert_true(atomic_load(&w.has_stopped));
	background_end(w.background);
	background_free(w.background);
}

static void stop_interrupts_a_long_wait(void **state)
{
	(void)state;
	int64_t start_us = clock_steady_us(clock_system());
	struct work w = { .background = background_new(), .pause_ms = LONG_MS };
	background_start(w.background, "test", work, &w);
	background_free(w.background);
	assert_true(atomic_load(&w.has_stopped));
	assert_int_equal(atomic_load(&w.iterations), 1);
	assert_true(clock_steady_us(clock_system()) - start_us < LONG_MS * CLOCK_US_PER_MS);
}

static void waits_for_the_given_time(void **state)
{
	(void)state;
	struct background *background = background_new();
	int64_t start_us = clock_steady_us(clock_system());
	assert_false(background_wait_ms(background, SHORT_MS));
	assert_true(clock_steady_us(clock_system()) - start_us >= SHORT_MS * CLOCK_US_PER_MS);
	background_free(background);
}

static void can_be_stopped_before_it_is_started(void **state)
{
	(void)state;
	struct background *background = background_new();
	background_end(background);
	assert_true(background_wait_ms(background, LONG_MS));
	background_free(background);
	background_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_until_a_stop_is_requested),
		cmocka_unit_test(stop_interrupts_a_long_wait),
		cmocka_unit_test(waits_for_the_given_time),
		cmocka_unit_test(can_be_stopped_before_it_is_started),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
