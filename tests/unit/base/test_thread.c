#include <stdatomic.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/thread.h"
#include "tests/support/test.h"

#define LONG_MS 60000
#define SHORT_MS 20

struct work {
	struct thread *thread;
	int64_t pause_ms;
	_Atomic int iterations;
	_Atomic bool has_stopped;
};

static void work(void *ctx)
{
	struct work *w = ctx;
	do
		atomic_fetch_add(&w->iterations, 1);
	while (!thread_wait_ms(w->thread, w->pause_ms));
	assert_true(thread_is_stopping(w->thread));
	atomic_store(&w->has_stopped, true);
}

TEST_CASE(runs_until_a_stop_is_requested)
{
	struct work w = { .thread = thread_new(), .pause_ms = 1 };
	thread_start(w.thread, "test", work, &w);
	while (atomic_load(&w.iterations) < 3)
		assert_false(thread_is_stopping(w.thread));
	thread_stop(w.thread);
	assert_true(atomic_load(&w.has_stopped));
	thread_stop(w.thread);
	thread_free(w.thread);
}

TEST_CASE(stop_interrupts_a_long_wait)
{
	int64_t start_us = clock_steady_us(clock_system());
	struct work w = { .thread = thread_new(), .pause_ms = LONG_MS };
	thread_start(w.thread, "test", work, &w);
	thread_free(w.thread);
	assert_true(atomic_load(&w.has_stopped));
	assert_int_equal(atomic_load(&w.iterations), 1);
	assert_true(clock_steady_us(clock_system()) - start_us < LONG_MS * CLOCK_US_PER_MS);
}

TEST_CASE(waits_for_the_given_time)
{
	struct thread *thread = thread_new();
	int64_t start_us = clock_steady_us(clock_system());
	assert_false(thread_wait_ms(thread, SHORT_MS));
	assert_true(clock_steady_us(clock_system()) - start_us >= SHORT_MS * CLOCK_US_PER_MS);
	thread_free(thread);
}

TEST_CASE(can_be_stopped_before_it_is_started)
{
	struct thread *thread = thread_new();
	thread_stop(thread);
	assert_true(thread_wait_ms(thread, LONG_MS));
	thread_free(thread);
	thread_free(NULL);
}

TEST_MAIN()
