#include "lib/base/thread.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/deadline.h"
#include "lib/base/mem.h"

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
	deadline_cond_init(&b->wake);
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
	return thread_wait_until(thread, deadline_in_ms(ms));
}
