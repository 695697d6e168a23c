#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/scheduling.h"

#define SLICE_NS 100000

static int nice_of_caller(void)
{
	return getpriority(PRIO_PROCESS, 0);
}

static void *note_nice(void *out)
{
	*(int *)out = nice_of_caller();
	return NULL;
}

static void note_nice_of_a_new_thread(void *out)
{
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, note_nice, out), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void threads_of_a_patient_call_give_way_and_its_caller_does_not(void **state)
{
	(void)state;
	/* As a process that was started nice. */
	assert_int_equal(setpriority(PRIO_PROCESS, 0, nice_of_caller() + 3), 0);
	int before = nice_of_caller();
	int found = before;
	scheduling_call_giving_way(note_nice_of_a_new_thread, &found);
	assert_int_equal(found, before + 5);
	assert_int_equal(nice_of_caller(), before);
}

/* In ns; 0: this kernel has none. sched_attr(7): it is the fourth. */
static uint64_t slice_of_caller(void)
{
	uint64_t attributes[6] = { 0 };
	assert_int_equal(syscall(SYS_sched_getattr, 0, attributes, sizeof(attributes), 0), 0);
	return attributes[3];
}

struct turns {
	int nice;
	uint64_t slice_before_ns, slice_ns;
};

static void *take_short_turns(void *out)
{
	struct turns *turns = out;
	turns->slice_before_ns = slice_of_caller();
	scheduling_take_short_turns();
	turns->nice = nice_of_caller();
	turns->slice_ns = slice_of_caller();
	return NULL;
}

static void short_turns_are_granted_and_leave_the_niceness_alone(void **state)
{
	(void)state;
	struct turns turns = { 0 };
	pthread_t thread;
	assert_int_equal(setpriority(PRIO_PROCESS, (id_t)gettid(), nice_of_caller() + 1), 0);
	assert_int_equal(pthread_create(&thread, NULL, take_short_turns, &turns), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(turns.nice, nice_of_caller());
	if (turns.slice_before_ns == 0) {
		print_message("skipped: this kernel has no slices of threads (before 6.12)\n");
		skip();
	}
	assert_int_equal(turns.slice_ns, SLICE_NS);
	assert_int_not_equal(turns.slice_before_ns, SLICE_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_of_a_patient_call_give_way_and_its_caller_does_not),
		cmocka_unit_test(short_turns_are_granted_and_leave_the_niceness_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
