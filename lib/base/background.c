#include "lib/base/background.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/deadline.h"
#include "lib/base/mem.h"

struct background {
	pthread_t handle;
	bool is_running; /* until it is joined */
	void (*run)(void *ctx);
	void *ctx;
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	bool is_stopping; /* guarded by mutex */
};

void background_spawn(pthread_t *thread, const char *name, void *(*run)(void *arg), void *arg)
{
	if (pthread_create(thread, NULL, run, arg) != 0) {
		fprintf(stderr, "cannot create the thread %s\n", name);
		abort();
	}
	pthread_setname_np(*thread, name);
}

struct background *background_new(void)
{
	struct background *b = mem_zero(sizeof(*b));
	deadline_cond_init(&b->wake);
	pthread_mutex_init(&b->mutex, NULL);
	return b;
}

static void *begin(void *arg)
{
	struct background *b = arg;
	b->run(b->ctx);
	return NULL;
}

void background_start(struct background *background, const char *name, void (*run)(void *ctx), void *ctx)
{
	background->run = run;
	background->ctx = ctx;
	background_spawn(&background->handle, name, begin, background);
	background->is_running = true;
}

void background_ask_to_end(struct background *background)
{
	pthread_mutex_lock(&background->mutex);
	background->is_stopping = true;
	pthread_cond_broadcast(&background->wake);
	pthread_mutex_unlock(&background->mutex);
}

void background_end(struct background *background)
{
	background_ask_to_end(background);
	if (background->is_running)
		pthread_join(background->handle, NULL);
	background->is_running = false;
}

void background_free(struct background *background)
{
	if (!background)
		return;
	background_end(background);
	pthread_cond_destroy(&background->wake);
	pthread_mutex_destroy(&background->mutex);
	free(background);
}

bool background_is_ending(struct background *background)
{
	pthread_mutex_lock(&background->mutex);
	bool is_stopping = background->is_stopping;
	pthread_mutex_unlock(&background->mutex);
	return is_stopping;
}

bool background_wait_until(struct background *background, struct timespec moment)
{
	int rc = 0;
	pthread_mutex_lock(&background->mutex);
	while (!background->is_stopping && rc == 0)
		rc = pthread_cond_timedwait(&background->wake, &background->mutex, &moment);
	bool is_stopping = background->is_stopping;
	pthread_mutex_unlock(&background->mutex);
	return is_stopping;
}

bool background_wait_ms(struct background *background, int64_t ms)
{
	return background_wait_until(background, deadline_in_ms(ms));
}
