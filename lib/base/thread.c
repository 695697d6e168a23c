#include "lib/base/thread.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"

#define NS_PER_MS 1000000L
#define NS_PER_S 1000000000L
#define NICE_INCREMENT 5
/* The shortest slice that the kernel grants. */
#define SLICE_NS 100000

struct thread {
	pthread_t handle;
	/* Until it is joined. */
	bool is_running;
	void (*run)(void *ctx);
	void *ctx;
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	/* Guarded by mutex. */
	bool is_stopping;
};

void thread_spawn(pthread_t *thread, const char *name, void *(*run)(void *arg), void *arg)
{
	if (pthread_create(thread, NULL, run, arg) != 0) {
		fprintf(stderr, "cannot create the thread %s\n", name);
		abort();
	}
	pthread_setname_np(*thread, name);
}

struct thread *thread_new(void)
{
	struct thread *b = mem_zero(sizeof(*b));
	thread_cond_init(&b->wake);
	pthread_mutex_init(&b->mutex, NULL);
	return b;
}

static void *begin(void *arg)
{
	struct thread *b = arg;
	b->run(b->ctx);
	return NULL;
}

void thread_start(struct thread *thread, const char *name, void (*run)(void *ctx), void *ctx)
{
	thread->run = run;
	thread->ctx = ctx;
	thread_spawn(&thread->handle, name, begin, thread);
	thread->is_running = true;
}

void thread_request_stop(struct thread *thread)
{
	pthread_mutex_lock(&thread->mutex);
	thread->is_stopping = true;
	pthread_cond_broadcast(&thread->wake);
	pthread_mutex_unlock(&thread->mutex);
}

void thread_stop(struct thread *thread)
{
	thread_request_stop(thread);
	if (thread->is_running)
		pthread_join(thread->handle, NULL);
	thread->is_running = false;
}

void thread_free(struct thread *thread)
{
	if (!thread)
		return;
	thread_stop(thread);
	pthread_cond_destroy(&thread->wake);
	pthread_mutex_destroy(&thread->mutex);
	free(thread);
}

bool thread_is_stopping(struct thread *thread)
{
	pthread_mutex_lock(&thread->mutex);
	bool is_stopping = thread->is_stopping;
	pthread_mutex_unlock(&thread->mutex);
	return is_stopping;
}

bool thread_wait_until(struct thread *thread, struct timespec moment)
{
	int rc = 0;
	pthread_mutex_lock(&thread->mutex);
	while (!thread->is_stopping && rc == 0)
		rc = pthread_cond_timedwait(&thread->wake, &thread->mutex, &moment);
	bool is_stopping = thread->is_stopping;
	pthread_mutex_unlock(&thread->mutex);
	return is_stopping;
}

bool thread_wait_ms(struct thread *thread, int64_t ms)
{
	return thread_wait_until(thread, thread_deadline_in_ms(ms));
}

/* --- bounded waits --- */

/* At most a day, so that it fits; -1: forever. */
static int left_ms(int64_t deadline_us)
{
	int64_t left_us = deadline_us - clock_steady_us(clock_system());
	if (deadline_us == INT64_MAX)
		return -1;
	if (left_us > CLOCK_US_PER_DAY)
		left_us = CLOCK_US_PER_DAY;
	return left_us > 0 ? (int)((left_us + CLOCK_US_PER_MS - 1) / CLOCK_US_PER_MS) : 0;
}

enum err thread_poll(int fd, short events, int64_t deadline_us, short *ready)
{
	struct pollfd entry = { .fd = fd, .events = events };
	int count;
	do {
		count = poll(&entry, 1, left_ms(deadline_us));
	} while (count < 0 && errno == EINTR);
	if (count <= 0)
		return count == 0 ? ERR_LIMIT : ERR_UNAVAILABLE;
	*ready = entry.revents;
	return OK;
}

struct timespec thread_deadline_in_ms(int64_t ms)
{
	struct timespec moment;
	clock_gettime(CLOCK_MONOTONIC, &moment);
	long ns = moment.tv_nsec + (long)(ms % 1000) * NS_PER_MS;
	moment.tv_sec += ms / 1000 + ns / NS_PER_S;
	moment.tv_nsec = ns % NS_PER_S;
	return moment;
}

void thread_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attributes;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attributes);
	pthread_condattr_destroy(&attributes);
}

/* --- priority --- */

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

void thread_lower_priority(void)
{
	int main_nice = getpriority(PRIO_PROCESS, (id_t)getpid());
	(void)setpriority(PRIO_PROCESS, (id_t)gettid(), main_nice + NICE_INCREMENT);
}

void thread_use_short_slices(void)
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
	thread_lower_priority();
	args->call(args->ctx);
	return NULL;
}

void thread_call_at_lower_priority(void (*call)(void *ctx), void *ctx)
{
	struct call_args args = { call, ctx };
	pthread_t thread;
	thread_spawn(&thread, "low-priority", call_at_lower_priority, &args);
	pthread_join(thread, NULL);
}
