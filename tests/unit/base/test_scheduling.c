#include <pthread.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/thread.h"
#include "tests/support/test.h"

#define SLICE_NS 100000

static int nice_of_caller(void)
{
	return getpriority(PRIO_PROCESS, 0);
}

static void *read_nice(void *out)
{
	*(int *)out = nice_of_caller();
	return NULL;
}

static void read_nice_of_a_new_thread(void *out)
{
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, read_nice, out), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

TEST_CASE(call_lowers_the_priority_of_its_threads_but_not_of_its_caller)
{
	/* As if the process had been started with nice. */
	assert_int_equal(setpriority(PRIO_PROCESS, 0, nice_of_caller() + 3), 0);
	int before = nice_of_caller();
	int found = before;
	thread_call_at_lower_priority(read_nice_of_a_new_thread, &found);
	assert_int_equal(found, before + 5);
	assert_int_equal(nice_of_caller(), before);
}

/* The slice in ns, the fourth word of sched_attr(7); 0 if the kernel does not support it. */
static uint64_t slice_of_caller(void)
{
	uint64_t attributes[6] = { 0 };
	assert_int_equal(syscall(SYS_sched_getattr, 0, attributes, sizeof(attributes), 0), 0);
	return attributes[3];
}

struct result {
	int nice;
	uint64_t slice_before_ns, slice_ns;
};

static void *use_short_slices(void *out)
{
	struct result *result = out;
	result->slice_before_ns = slice_of_caller();
	thread_use_short_slices();
	result->nice = nice_of_caller();
	result->slice_ns = slice_of_caller();
	return NULL;
}

TEST_CASE(short_slices_are_granted_and_keep_the_nice_value)
{
	struct result result = { 0 };
	pthread_t thread;
	assert_int_equal(setpriority(PRIO_PROCESS, (id_t)gettid(), nice_of_caller() + 1), 0);
	assert_int_equal(pthread_create(&thread, NULL, use_short_slices, &result), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(result.nice, nice_of_caller());
	if (result.slice_before_ns == 0) {
		print_message("skipped: the kernel does not support time slices (before 6.12)\n");
		skip();
	}
	assert_int_equal(result.slice_ns, SLICE_NS);
	assert_int_not_equal(result.slice_before_ns, SLICE_NS);
}

TEST_MAIN()
