#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/base/worker_pool.h"

#define DEADLINE_S 20

static void wait_for(sem_t *semaphore)
{
	struct timespec deadline;
	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += DEADLINE_S;
	assert_int_equal(sem_timedwait(semaphore, &deadline), 0);
}

/* A job that says that it runs, and then waits until it may go on. */
struct gate {
	sem_t entered, open;
	_Atomic int done;
};

static void gate_init(struct gate *gate)
{
	memset(gate, 0, sizeof(*gate));
	sem_init(&gate->entered, 0, 0);
	sem_init(&gate->open, 0, 0);
}

static void pass_gate(void *arg)
{
	struct gate *gate = arg;
	sem_post(&gate->entered);
	while (sem_wait(&gate->open) != 0) {
	}
	gate->done++;
}

static void count_up(void *arg)
{
	++*(_Atomic int *)arg;
}

static void runs_every_job_once(void **state)
{
	(void)state;
	_Atomic int count = 0;
	struct worker_pool *pool = worker_pool_new("test", 4, 1000);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(worker_pool_submit(pool, count_up, &count), OK);
	worker_pool_free(pool);
	assert_int_equal(count, 1000);
}

static void jobs_that_stand_behind_others_leave_them_room(void **state)
{
	(void)state;
	struct gate gate;
	_Atomic int count = 0;
	gate_init(&gate);
	struct worker_pool *pool = worker_pool_new("test", 1, 3);
	assert_int_equal(worker_pool_submit(pool, pass_gate, &gate), OK);
	wait_for(&gate.entered);
	assert_int_equal(worker_pool_submit_behind(pool, 2, count_up, &count), OK);
	assert_int_equal(worker_pool_submit_behind(pool, 2, count_up, &count), OK);
	assert_int_equal(worker_pool_submit_behind(pool, 2, count_up, &count), ERR_LIMIT);
	assert_int_equal(worker_pool_submit(pool, count_up, &count), OK);
	assert_int_equal(worker_pool_submit_behind(pool, 9, count_up, &count), ERR_LIMIT);
	assert_int_equal(worker_pool_queued(pool), 3);
	sem_post(&gate.open);
	worker_pool_free(pool);
	assert_int_equal(count, 3);
}

static void refuses_jobs_when_the_queue_is_full(void **state)
{
	(void)state;
	struct gate gate;
	_Atomic int count = 0;
	gate_init(&gate);
	struct metrics *metrics = metrics_new();
	struct metric *queued = metrics_gauge(metrics, "waymark_queued", "Queued.", NULL);
	struct worker_pool *pool = worker_pool_new("test", 1, 2);
	worker_pool_show_queue(pool, queued);
	assert_int_equal(worker_pool_submit(pool, pass_gate, &gate), OK);
	wait_for(&gate.entered);
	assert_int_equal(worker_pool_queued(pool), 0);
	assert_int_equal(worker_pool_submit(pool, count_up, &count), OK);
	assert_int_equal(worker_pool_submit(pool, count_up, &count), OK);
	assert_int_equal(worker_pool_queued(pool), 2);
	assert_int_equal(worker_pool_submit(pool, count_up, &count), ERR_LIMIT);
	assert_int_equal(worker_pool_queued(pool), 2);
	assert_int_equal(metrics_value(queued), 2);
	sem_post(&gate.open);
	worker_pool_free(pool);
	assert_int_equal(metrics_value(queued), 0);
	metrics_free(metrics);
	/* The refused one did not run. */
	assert_int_equal(count, 2);
}

static void takes_jobs_again_when_the_queue_has_room(void **state)
{
	(void)state;
	struct gate first, second;
	_Atomic int count = 0;
	gate_init(&first);
	gate_init(&second);
	struct worker_pool *pool = worker_pool_new("test", 1, 1);
	assert_int_equal(worker_pool_submit(pool, pass_gate, &first), OK);
	wait_for(&first.entered);
	assert_int_equal(worker_pool_submit(pool, pass_gate, &second), OK);
	assert_int_equal(worker_pool_submit(pool, count_up, &count), ERR_LIMIT);
	sem_post(&first.open);
	wait_for(&second.entered);
	assert_int_equal(worker_pool_submit(pool, count_up, &count), OK);
	sem_post(&second.open);
	worker_pool_free(pool);
	assert_int_equal(count, 1);
}

static void runs_as_many_jobs_at_once_as_it_has_threads(void **state)
{
	(void)state;
	struct gate gate;
	gate_init(&gate);
	struct worker_pool *pool = worker_pool_new("test", 3, 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(worker_pool_submit(pool, pass_gate, &gate), OK);
	for (int i = 0; i < 3; i++)
		wait_for(&gate.entered);
	for (int i = 0; i < 3; i++)
		sem_post(&gate.open);
	worker_pool_free(pool);
	assert_int_equal(gate.done, 3);
}

struct notebook {
	int order[100];
	int count;
};

struct note {
	struct notebook *book;
	int number;
};

static void write_down(void *arg)
{
	const struct note *note = arg;
	note->book->order[note->book->count++] = note->number;
}

static void keeps_the_order_of_jobs_with_one_thread(void **state)
{
	(void)state;
	struct notebook book = { .count = 0 };
	struct note notes[100];
	struct worker_pool *pool = worker_pool_new("test", 1, 100);
	for (int i = 0; i < 100; i++) {
		notes[i] = (struct note){ &book, i };
		assert_int_equal(worker_pool_submit(pool, write_down, &notes[i]), OK);
	}
	worker_pool_free(pool);
	for (int i = 0; i < 100; i++)
		assert_int_equal(book.order[i], i);
}

static void drains_the_queue_before_it_ends(void **state)
{
	(void)state;
	struct gate gate;
	_Atomic int count = 0;
	gate_init(&gate);
	struct worker_pool *pool = worker_pool_new("test", 1, 50);
	assert_int_equal(worker_pool_submit(pool, pass_gate, &gate), OK);
	wait_for(&gate.entered);
	for (int i = 0; i < 50; i++)
		assert_int_equal(worker_pool_submit(pool, count_up, &count), OK);
	assert_int_equal(count, 0);
	sem_post(&gate.open);
	worker_pool_free(pool);
	assert_int_equal(count, 50);
}

#define THREAD_NAME_SIZE 16

static void tell_name(void *arg)
{
	pthread_getname_np(pthread_self(), arg, THREAD_NAME_SIZE);
}

static void names_its_threads(void **state)
{
	(void)state;
	char name[THREAD_NAME_SIZE] = "";
	struct worker_pool *pool = worker_pool_new("twelve_chars", 1, 1);
	assert_int_equal(worker_pool_submit(pool, tell_name, name), OK);
	worker_pool_free(pool);
	assert_string_equal(name, "twelve_chars-0");
}

static void frees_nothing_without_a_pool(void **state)
{
	(void)state;
	worker_pool_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_every_job_once),
		cmocka_unit_test(refuses_jobs_when_the_queue_is_full),
		cmocka_unit_test(jobs_that_stand_behind_others_leave_them_room),
		cmocka_unit_test(takes_jobs_again_when_the_queue_has_room),
		cmocka_unit_test(runs_as_many_jobs_at_once_as_it_has_threads),
		cmocka_unit_test(keeps_the_order_of_jobs_with_one_thread),
		cmocka_unit_test(drains_the_queue_before_it_ends),
		cmocka_unit_test(names_its_threads),
		cmocka_unit_test(frees_nothing_without_a_pool),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
