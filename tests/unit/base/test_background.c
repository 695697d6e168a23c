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
	atomic_int rounds;
	atomic_bool has_ended;
};

static void work(void *ctx)
{
	struct work *w = ctx;
	do
		atomic_fetch_add(&w->rounds, 1);
	while (!background_wait_ms(w->background, w->pause_ms));
	assert_true(background_is_ending(w->background));
	atomic_store(&w->has_ended, true);
}

static void works_until_it_is_asked_to_end(void **state)
{
	(void)state;
	struct work w = { .background = background_new(), .pause_ms = 1 };
	background_start(w.background, "test", work, &w);
	while (atomic_load(&w.rounds) < 3)
		assert_false(background_is_ending(w.background));
	background_end(w.background);
	assert_true(atomic_load(&w.has_ended));
	background_end(w.background);
	background_free(w.background);
}

static void wakes_from_a_long_wait_at_its_end(void **state)
{
	(void)state;
	int64_t began_us = clock_steady_us(clock_system());
	struct work w = { .background = background_new(), .pause_ms = LONG_MS };
	background_start(w.background, "test", work, &w);
	background_free(w.background);
	assert_true(atomic_load(&w.has_ended));
	assert_int_equal(atomic_load(&w.rounds), 1);
	assert_true(clock_steady_us(clock_system()) - began_us < LONG_MS * CLOCK_US_PER_MS);
}

static void waits_as_long_as_it_is_told(void **state)
{
	(void)state;
	struct background *background = background_new();
	int64_t began_us = clock_steady_us(clock_system());
	assert_false(background_wait_ms(background, SHORT_MS));
	assert_true(clock_steady_us(clock_system()) - began_us >= SHORT_MS * CLOCK_US_PER_MS);
	background_free(background);
}

static void ends_without_having_begun(void **state)
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
		cmocka_unit_test(works_until_it_is_asked_to_end),
		cmocka_unit_test(wakes_from_a_long_wait_at_its_end),
		cmocka_unit_test(waits_as_long_as_it_is_told),
		cmocka_unit_test(ends_without_having_begun),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
