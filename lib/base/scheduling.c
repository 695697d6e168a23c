#include "lib/base/scheduling.h"

#include <pthread.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/thread.h"

#define NICE_INCREMENT 5
/* The shortest slice that the kernel grants. */
#define SLICE_NS 100000

/* struct sched_attr of sched_setattr(2), whose kernel header conflicts with that of glibc. */
struct sched_attributes {
	uint32_t size;
	/* 0 = SCHED_OTHER. */
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	/* Slice of SCHED_OTHER, in ns. */
	uint64_t runtime;
	uint64_t deadline;
	uint64_t period;
};

void scheduling_lower_priority(void)
{
	int main_nice = getpriority(PRIO_PROCESS, (id_t)getpid());
	(void)setpriority(PRIO_PROCESS, (id_t)gettid(), main_nice + NICE_INCREMENT);
}

void scheduling_use_short_slices(void)
{
	struct sched_attributes attributes = {
		.size = sizeof(attributes),
		.nice = getpriority(PRIO_PROCESS, 0),
		.runtime = SLICE_NS,
	};
	(void)syscall(SYS_sched_setattr, 0, &attributes, 0);
}

struct call_args {
	void (*call)(void *ctx);
	void *ctx;
};

static void *call_at_lower_priority(void *arg)
{
	const struct call_args *args = arg;
	scheduling_lower_priority();
	args->call(args->ctx);
	return NULL;
}

void scheduling_call_at_lower_priority(void (*call)(void *ctx), void *ctx)
{
	struct call_args args = { call, ctx };
	pthread_t thread;
	thread_spawn(&thread, "low-priority", call_at_lower_priority, &args);
	pthread_join(thread, NULL);
}
