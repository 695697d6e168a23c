#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/shutdown.h"
#include "tests/support/test.h"

#define LONG_MS 20000

TEST_CASE(is_not_requested_at_first)
{
	struct shutdown *s = shutdown_new();
	assert_false(shutdown_requested(s));
	assert_false(shutdown_wait_ms(s, 0));
	assert_false(shutdown_wait_ms(s, -5));
	shutdown_free(s);
}

TEST_CASE(waits_for_the_given_time)
{
	struct shutdown *s = shutdown_new();
	int64_t start_us = clock_steady_us(clock_system());
	assert_false(shutdown_wait_ms(s, 30));
	assert_true(clock_steady_us(clock_system()) - start_us >= 29000);
	shutdown_free(s);
}

static void assert_requested_by(int signal)
{
	struct shutdown *s = shutdown_new();
	assert_int_equal(kill(getpid(), signal), 0);
	assert_true(shutdown_wait_ms(s, LONG_MS));
	shutdown_wait(s);
	assert_true(shutdown_requested(s));

	/* Consumes the signal, so that the next test does not see it. */
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, signal);
	assert_int_equal(sigtimedwait(&set, NULL, &(struct timespec){ 0 }), signal);
	assert_true(shutdown_requested(s));
	shutdown_free(s);
}

TEST_CASE(is_requested_by_sigterm_and_by_sigint)
{
	assert_requested_by(SIGTERM);
	assert_requested_by(SIGINT);
}

TEST_CASE(is_requested_from_inside)
{
	struct shutdown *s = shutdown_new();
	shutdown_request(s);
	shutdown_request(s);
	assert_true(shutdown_requested(s));
	assert_true(shutdown_wait_ms(s, LONG_MS));
	shutdown_wait(s);
	shutdown_free(s);
}

TEST_CASE(survives_a_broken_pipe)
{
	struct shutdown *s = shutdown_new();
	int fds[2];
	assert_int_equal(pipe(fds), 0);
	close(fds[0]);
	assert_int_equal(write(fds[1], "x", 1), -1);
	close(fds[1]);
	assert_false(shutdown_requested(s));
	shutdown_free(s);
}

struct waiter {
	struct shutdown *s;
	bool woke;
};

static void *wait_in_thread(void *arg)
{
	struct waiter *waiter = arg;
	waiter->woke = shutdown_wait_ms(waiter->s, LONG_MS);
	return NULL;
}

TEST_CASE(wakes_all_waiting_threads)
{
	struct waiter waiters[3];
	pthread_t threads[3];
	struct shutdown *s = shutdown_new();
	for (int i = 0; i < 3; i++) {
		waiters[i] = (struct waiter){ .s = s };
		assert_int_equal(pthread_create(&threads[i], NULL, wait_in_thread, &waiters[i]), 0);
	}
	assert_int_equal(kill(getpid(), SIGTERM), 0);
	for (int i = 0; i < 3; i++) {
		pthread_join(threads[i], NULL);
		assert_true(waiters[i].woke);
	}
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	assert_int_equal(sigtimedwait(&set, NULL, &(struct timespec){ 0 }), SIGTERM);
	shutdown_free(s);
}

TEST_MAIN()
