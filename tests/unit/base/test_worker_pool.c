#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/base/worker_pool.h"
#include "tests/support/test.h"

#define DEADLINE_S 300

static void wait_for(sem_t *semaphore)
{
	struct timespec deadline;
	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += DEADLINE_S;
	assert_int_equal(sem_timedwait(semaphore, &deadline), 0);
}

/* A job that signals that it runs and then waits until the test lets it continue. */
struct blocker {
	sem_t entered, release;
	_Atomic int done;
};

static void blocker_init(struct blocker *blocker)
{
	memset(blocker, 0, sizeof(*blocker));
	sem_init(&blocker->entered, 0, 0);
	sem_init(&blocker->release, 0, 0);
}

static void wait_in_blocker(void *arg)
{
	struct blocker *blocker = arg;
	sem_post(&blocker->entered);
	while (sem_wait(&blocker->release) != 0) {
	}
	atomic_fetch_add(&blocker->done, 1);
}

static void count_up(void *arg)
{
	atomic_fetch_add((_Atomic int *)arg, 1);
}

TEST_CASE(runs_every_job_once)
{
	_Atomic int count = 0;
	struct worker_pool *pool = worker_pool_new("test", 4, 1000);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(worker_pool_submit(pool, count_up, &count), OK);
	worker_pool_free(pool);
	assert_int_equal(atomic_load(&count), 1000);
}

TEST_CASE(refuses_jobs_when_the_queue_is_full)
{
	struct blocker blocker;
	_Atomic int count = 0;
	blocker_init(&blocker);
	struct metrics *metrics = metrics_new();
	struct metric *queued = metrics_gauge(metrics, "waymark_queued", "Queued.", NULL);
	struct worker_pool *pool = worker_pool_new("test", 1, 2);
	worker_pool_set_queue_metric(pool, queued);
	assert_int_equal(worker_pool_submit(pool, wait_in_blocker, &blocker), OK);
	wait_for(&blocker.entered);
	assert_int_equal(metrics_value(queued), 0);
	assert_int_equal(worker_pool_submit(pool, count_up, &count), OK);
	assert_int_equal(worker_pool_submit(pool, count_up, &count), OK);
	assert_int_equal(metrics_value(queued), 2);
	assert_int_equal(worker_pool_submit(pool, count_up, &count), ERR_LIMIT);
	assert_int_equal(metrics_value(queued), 2);
	sem_post(&blocker.release);
	worker_pool_free(pool);
	assert_int_equal(metrics_value(queued), 0);
	metrics_free(metrics);
	/* The rejected job did not run. */
	assert_int_equal(atomic_load(&count), 2);
}

TEST_CASE(accepts_jobs_again_when_the_queue_has_space)
{
	struct blocker first, second;
	_Atomic int count = 0;
	blocker_init(&first);
	blocker_init(&second);
	struct worker_pool *pool = worker_pool_new("test", 1, 1);
	assert_int_equal(worker_pool_submit(pool, wait_in_blocker, &first), OK);
	wait_for(&first.entered);
	assert_int_equal(worker_pool_submit(pool, wait_in_blocker, &second), OK);
	assert_int_equal(worker_pool_submit(pool, count_up, &count), ERR_LIMIT);
	sem_post(&first.release);
	wait_for(&second.entered);
	assert_int_equal(worker_pool_submit(pool, count_up, &count), OK);
	sem_post(&second.release);
	worker_pool_free(pool);
	assert_int_equal(atomic_load(&count), 1);
}

TEST_CASE(runs_as_many_jobs_at_once_as_it_has_threads)
{
	struct blocker blocker;
	blocker_init(&blocker);
	struct worker_pool *pool = worker_pool_new("test", 3, 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(worker_pool_submit(pool, wait_in_blocker, &blocker), OK);
	for (int i = 0; i < 3; i++)
		wait_for(&blocker.entered);
	for (int i = 0; i < 3; i++)
		sem_post(&blocker.release);
	worker_pool_free(pool);
	assert_int_equal(atomic_load(&blocker.done), 3);
}

struct journal {
	int order[100];
	int count;
};

struct note {
	struct journal *journal;
	int number;
};

static void record(void *arg)
{
	const struct note *note = arg;
	note->journal->order[note->journal->count++] = note->number;
}

TEST_CASE(one_thread_keeps_the_order_of_jobs)
{
	struct journal journal = { .count = 0 };
	struct note notes[100];
	struct worker_pool *pool = worker_pool_new("test", 1, 100);
	for (int i = 0; i < 100; i++) {
		notes[i] = (struct note){ &journal, i };
		assert_int_equal(worker_pool_submit(pool, record, &notes[i]), OK);
	}
	worker_pool_free(pool);
	for (int i = 0; i < 100; i++)
		assert_int_equal(journal.order[i], i);
}

TEST_CASE(drains_the_queue_before_it_stops)
{
	struct blocker blocker;
	_Atomic int count = 0;
	blocker_init(&blocker);
	struct worker_pool *pool = worker_pool_new("test", 1, 50);
	assert_int_equal(worker_pool_submit(pool, wait_in_blocker, &blocker), OK);
	wait_for(&blocker.entered);
	for (int i = 0; i < 50; i++)
		assert_int_equal(worker_pool_submit(pool, count_up, &count), OK);
	assert_int_equal(atomic_load(&count), 0);
	sem_post(&blocker.release);
	worker_pool_free(pool);
	assert_int_equal(atomic_load(&count), 50);
}

#define THREAD_NAME_SIZE 16

static void read_name(void *arg)
{
	pthread_getname_np(pthread_self(), arg, THREAD_NAME_SIZE);
}

TEST_CASE(names_its_threads)
{
	char name[THREAD_NAME_SIZE] = "";
	struct worker_pool *pool = worker_pool_new("twelve_chars", 1, 1);
	assert_int_equal(worker_pool_submit(pool, read_name, name), OK);
	worker_pool_free(pool);
	assert_string_equal(name, "twelve_chars-0");
}

TEST_CASE(free_accepts_null)
{
	worker_pool_free(NULL);
}

TEST_MAIN()
