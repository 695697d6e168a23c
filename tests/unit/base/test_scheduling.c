#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
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
	int before = nice_of_caller();
	int found = before;
	scheduling_call_giving_way(note_nice_of_a_new_thread, &found);
	assert_int_equal(found, before + 5);
	assert_int_equal(nice_of_caller(), before);
}

struct slice {
	int nice;
	uint64_t ns;
};

static void *take_short_turns(void *out)
{
	struct slice *slice = out;
	uint64_t attributes[6] = { 0 }; /* sched_attr(7): the slice is the fourth */
	scheduling_take_short_turns();
	slice->nice = nice_of_caller();
	assert_int_equal(syscall(SYS_sched_getattr, 0, attributes, sizeof(attributes), 0), 0);
	slice->ns = attributes[3];
	return NULL;
}

static bool kernel_has_slices(void)
{
	struct utsname name;
	int major = 0;
	int minor = 0;
	assert_int_equal(uname(&name), 0);
	assert_int_equal(sscanf(name.release, "%d.%d", &major, &minor), 2);
	return major > 6 || (major == 6 && minor >= 12);
}

static void short_turns_are_granted_and_leave_the_niceness_alone(void **state)
{
	(void)state;
	struct slice slice = { 0 };
	pthread_t thread;
	assert_int_equal(setpriority(PRIO_PROCESS, (id_t)gettid(), nice_of_caller() + 1), 0);
	assert_int_equal(pthread_create(&thread, NULL, take_short_turns, &slice), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(slice.nice, nice_of_caller());
	if (!kernel_has_slices()) {
		print_message("skipped: this kernel has no slices of threads (before 6.12)\n");
		skip();
	}
	assert_int_equal(slice.ns, SLICE_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_of_a_patient_call_give_way_and_its_caller_does_not),
		cmocka_unit_test(short_turns_are_granted_and_leave_the_niceness_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
