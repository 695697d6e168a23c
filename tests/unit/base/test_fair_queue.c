#include "lib/base/fair_queue.h"

#include "tests/support/test.h"

#define RUNNING_MAX 2
#define WAITING_MAX 100

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
		WAITING_MAX, replaced);
}

/* Pushes a job that must find room. arg identifies it. */
static void add(struct fair_queue *queue, uint64_t flow, int *arg)
{
	struct fair_queue_job replaced;
	assert_int_equal(push(queue, flow, arg, &replaced), OK);
	assert_null(replaced.reject);
}

static void end(struct fair_queue *queue, uint64_t flow)
{
	fair_queue_end(queue, &(struct fair_queue_job){ .flow = flow });
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
	assert_null(next(queue)); /* flow 1 runs as many as it may */
	end(queue, 2);
	assert_null(next(queue));
	end(queue, 1);
	assert_ptr_equal(next(queue), &a[2]);
	end(queue, 1);
	end(queue, 1);
	end(queue, 2);
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
		end(queue, 0);
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
		                        WAITING_MAX, &replaced),
			OK);
	assert_int_equal(push(queue, 2, &b, &replaced), OK);
	assert_ptr_equal(replaced.arg, &a[1]);
	assert_int_equal(push(queue, 3, &b, &replaced), ERR_LIMIT);
	int *const wanted[] = { &a[0], &b, &a[2] };
	for (size_t i = 0; i < 3; i++)
		assert_ptr_equal(next(queue), wanted[i]);
	fair_queue_free(queue);
}

/* A job that asks for the first place of its flow, and whether it has got it when it runs. */
static enum err push_first(struct fair_queue *queue, uint64_t flow, int *arg,
                           struct fair_queue_job *replaced)
{
	return fair_queue_push(
		queue,
		&(struct fair_queue_job){
			.flow = flow, .is_first = true, .run = run, .reject = run, .arg = arg },
		3, replaced);
}

TEST_CASE(a_flow_has_one_first_place_however_often_it_asks)
{
	struct fair_queue *queue = fair_queue_new(10, 1);
	struct fair_queue_job replaced, job;
	int a[3], b[3], c;
	add(queue, 3, &c);
	for (int i = 0; i < 3; i++)
		assert_int_equal(push_first(queue, 1, &a[i], &replaced), i < 2 ? OK : ERR_LIMIT);
	assert_int_equal(push_first(queue, 2, &b[0], &replaced), OK);
	/* First places take every second turn, in their order. */
	assert_true(fair_queue_pop(queue, &job));
	assert_ptr_equal(job.arg, &a[0]);
	assert_ptr_equal(next(queue), &c);
	assert_ptr_equal(next(queue), &b[0]);
	assert_ptr_equal(next(queue), &a[1]);
	/* The first place is taken until its job has ended. */
	assert_int_equal(push_first(queue, 1, &a[2], &replaced), OK);
	assert_null(next(queue));
	fair_queue_end(queue, &job);
	assert_int_equal(push_first(queue, 1, &b[1], &replaced), OK);
	assert_ptr_equal(next(queue), &b[1]);
	end(queue, 1);
	assert_ptr_equal(next(queue), &a[2]);
	fair_queue_free(queue);
}

TEST_CASE(a_first_place_replaces_a_job_of_any_flow_and_is_never_replaced)
{
	struct fair_queue *queue = fair_queue_new(3, 1);
	struct fair_queue_job replaced;
	int a[3], b[4];
	for (uint64_t i = 0; i < 3; i++)
		add(queue, 1 + i, &a[i]);
	for (uint64_t i = 0; i < 3; i++) {
		assert_int_equal(push_first(queue, 10 + i, &b[i], &replaced), OK);
		assert_non_null(replaced.reject);
	}
	assert_int_equal(push_first(queue, 20, &b[3], &replaced), ERR_LIMIT);
	assert_int_equal(push(queue, 4, &b[3], &replaced), ERR_LIMIT);
	for (int i = 0; i < 3; i++)
		assert_ptr_equal(next(queue), &b[i]);
	fair_queue_free(queue);
}

TEST_CASE(a_limited_job_replaces_one_of_a_longer_flow_beyond_its_limit)
{
	struct fair_queue *queue = fair_queue_new(10, 1);
	struct fair_queue_job replaced;
	int a[4], b[2];
	for (int i = 0; i < 4; i++)
		add(queue, 1, &a[i]);
	const struct fair_queue_job limited = { .flow = 2, .run = run, .reject = run, .arg = b };
	for (int i = 0; i < 2; i++) {
		assert_int_equal(fair_queue_push(queue, &limited, 4, &replaced), OK);
		assert_ptr_equal(replaced.arg, &a[3 - i]);
	}
	assert_int_equal(fair_queue_push(queue, &limited, 4, &replaced), ERR_LIMIT);
	assert_int_equal(push(queue, 2, b, &replaced), OK);
	fair_queue_free(queue);
}

TEST_MAIN()
