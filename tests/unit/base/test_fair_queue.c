#include "lib/base/fair_queue.h"

#include "tests/support/test.h"

#define RUNNING_MAX 2

static void run(void *arg)
{
	(void)arg;
}

static enum err push(struct fair_queue *queue, uint64_t flow, int *arg,
                     struct fair_queue_job *replaced)
{
	return fair_queue_push(
		queue,
		&(struct fair_queue_job){ .flow = flow, .run = run, .reject = run, .arg = arg },
		replaced);
}

/* Pushes a job that must find room. arg identifies it. */
static void add(struct fair_queue *queue, uint64_t flow, int *arg)
{
	struct fair_queue_job replaced;
	assert_int_equal(push(queue, flow, arg, &replaced), OK);
	assert_null(replaced.reject);
}

/* The argument of the next job; NULL: none may run. */
static int *next(struct fair_queue *queue)
{
	struct fair_queue_job job;
	return fair_queue_pop(queue, &job) ? job.arg : NULL;
}

TEST_CASE(flows_take_turns)
{
	struct fair_queue *queue = fair_queue_new(10, RUNNING_MAX);
	int a[3], b[2];
	for (int i = 0; i < 3; i++)
		add(queue, 1, &a[i]);
	for (int i = 0; i < 2; i++)
		add(queue, 2, &b[i]);
	int *const wanted[] = { &a[0], &b[0], &a[1], &b[1] };
	for (size_t i = 0; i < 4; i++)
		assert_ptr_equal(next(queue), wanted[i]);
	assert_int_equal(fair_queue_waiting(queue), 1);
	assert_null(next(queue)); /* flow 1 runs as many as it may */
	fair_queue_end(queue, 2);
	assert_null(next(queue));
	fair_queue_end(queue, 1);
	assert_ptr_equal(next(queue), &a[2]);
	fair_queue_end(queue, 1);
	fair_queue_end(queue, 1);
	fair_queue_end(queue, 2);
	assert_int_equal(fair_queue_waiting(queue), 0);
	fair_queue_free(queue);
}

TEST_CASE(flow_zero_keeps_its_order_and_has_no_limit)
{
	struct fair_queue *queue = fair_queue_new(10, RUNNING_MAX);
	int a[10];
	for (int i = 0; i < 10; i++)
		add(queue, 0, &a[i]);
	for (int i = 0; i < 10; i++)
		assert_ptr_equal(next(queue), &a[i]);
	for (int i = 0; i < 10; i++)
		fair_queue_end(queue, 0);
	fair_queue_free(queue);
}

TEST_CASE(a_full_queue_replaces_the_newest_job_of_the_longest_flow)
{
	struct fair_queue *queue = fair_queue_new(4, RUNNING_MAX);
	struct fair_queue_job replaced;
	int a[4], b[3];
	for (int i = 0; i < 4; i++)
		add(queue, 1, &a[i]);
	assert_int_equal(push(queue, 1, &a[0], &replaced), ERR_LIMIT);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(push(queue, 2, &b[i], &replaced), OK);
		assert_ptr_equal(replaced.arg, &a[3 - i]);
	}
	assert_int_equal(push(queue, 2, &b[2], &replaced), ERR_LIMIT); /* as long as flow 1 */
	int *const wanted[] = { &a[0], &b[0], &a[1], &b[1] };
	for (size_t i = 0; i < 4; i++)
		assert_ptr_equal(next(queue), wanted[i]);
	fair_queue_free(queue);
}

TEST_CASE(jobs_that_cannot_be_rejected_keep_their_place)
{
	struct fair_queue *queue = fair_queue_new(3, RUNNING_MAX);
	struct fair_queue_job replaced;
	int a[3], b;
	for (int i = 0; i < 3; i++)
		assert_int_equal(
			fair_queue_push(queue,
		                        &(struct fair_queue_job){ .flow = 1,
		                                                  .run = run,
		                                                  .reject = i == 1 ? run : NULL,
		                                                  .arg = &a[i] },
		                        &replaced),
			OK);
	assert_int_equal(push(queue, 2, &b, &replaced), OK);
	assert_ptr_equal(replaced.arg, &a[1]);
	assert_int_equal(push(queue, 3, &b, &replaced), ERR_LIMIT);
	int *const wanted[] = { &a[0], &b, &a[2] };
	for (size_t i = 0; i < 3; i++)
		assert_ptr_equal(next(queue), wanted[i]);
	fair_queue_free(queue);
}

TEST_MAIN()
