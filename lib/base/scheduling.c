#include "lib/base/scheduling.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NICE 5
/* The shortest that the kernel grants. */
#define TURN_NS 100000

/* struct sched_attr of sched_setattr(2) in its first version: the kernel's header does not go with glibc's. */
struct attributes {
	uint32_t size;
	uint32_t policy; /* 0 = SCHED_OTHER */
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime; /* of SCHED_OTHER: the slice, in ns */
	uint64_t deadline;
	uint64_t period;
};

void scheduling_give_way(void)
{
	int ordinary = getpriority(PRIO_PROCESS, (id_t)getpid());
	(void)setpriority(PRIO_PROCESS, (id_t)gettid(), ordinary + NICE);
}

void scheduling_take_short_turns(void)
{
	struct attributes wish = {
		.size = sizeof(wish),
		.nice = getpriority(PRIO_PROCESS, 0),
		.runtime = TURN_NS,
	};
	(void)syscall(SYS_sched_setattr, 0, &wish, 0);
}

struct patient_call {
	void (*call)(void *ctx);
	void *ctx;
};

static void *make_call(void *arg)
{
	const struct patient_call *patient = arg;
	scheduling_give_way();
	patient->call(patient->ctx);
	return NULL;
}

void scheduling_call_giving_way(void (*call)(void *ctx), void *ctx)
{
	struct patient_call patient = { call, ctx };
	pthread_t thread;
	if (pthread_create(&thread, NULL, make_call, &patient) != 0)
		abort();
	pthread_join(thread, NULL);
}
