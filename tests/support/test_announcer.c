#include "tests/support/test_announcer.h"

#include <pthread.h>
#include <stdlib.h>

#include "lib/base/mem.h"
#include "lib/base/thread.h"
#include "lib/links/link_cache_validity.h"

#define PERIOD_MS 20
#define TIMEOUT_MS 200

struct test_announcer {
	struct redis_pool *redis;
	struct thread *thread;
	/* Guards everything below; held during an announcement. */
	pthread_mutex_t mutex;
	bool is_paused;
	int64_t generation;
	uint64_t server;
};

static void announce(struct test_announcer *a)
{
	struct link_cache_validity_reply answer;
	enum err err = link_cache_validity_announce(a->redis, a->generation, a->server,
	                                            INT64_MAX / 1024, &answer);
	if (err == OK && answer.status == LINK_CACHE_VALIDITY_BEHIND)
		a->generation = answer.number + 1;
	if (err != OK || answer.server == a->server)
		return;
	a->server = answer.server;
	a->generation++;
}

static void run(void *ctx)
{
	struct test_announcer *a = ctx;
	do {
		pthread_mutex_lock(&a->mutex);
		if (!a->is_paused)
			announce(a);
		pthread_mutex_unlock(&a->mutex);
	} while (!thread_wait_ms(a->thread, PERIOD_MS));
}

struct test_announcer *test_announcer_new(const char *redis_url)
{
	struct test_announcer *a = mem_zero(sizeof(*a));
	const struct redis_pool_config redis = {
		.url = redis_url, .max = 1, .timeout_ms = TIMEOUT_MS, .clock = clock_system()
	};
	if (redis_pool_new(&redis, &a->redis) != OK)
		abort();
	a->generation = 1;
	pthread_mutex_init(&a->mutex, NULL);
	a->thread = thread_new();
	thread_start(a->thread, "announcer", run, a);
	return a;
}

void test_announcer_free(struct test_announcer *a)
{
	thread_free(a->thread);
	pthread_mutex_destroy(&a->mutex);
	redis_pool_free(a->redis);
	free(a);
}

static void set_paused(struct test_announcer *a, bool is_paused)
{
	pthread_mutex_lock(&a->mutex);
	a->is_paused = is_paused;
	pthread_mutex_unlock(&a->mutex);
}

void test_announcer_pause(struct test_announcer *a)
{
	set_paused(a, true);
}

void test_announcer_resume(struct test_announcer *a)
{
	set_paused(a, false);
}

int64_t test_announcer_generation(struct test_announcer *a)
{
	pthread_mutex_lock(&a->mutex);
	int64_t generation = a->generation;
	pthread_mutex_unlock(&a->mutex);
	return generation;
}

void test_announcer_raise_generation(struct test_announcer *a)
{
	pthread_mutex_lock(&a->mutex);
	a->generation++;
	pthread_mutex_unlock(&a->mutex);
}
