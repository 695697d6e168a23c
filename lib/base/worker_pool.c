#include "lib/base/worker_pool.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/mem.h"
#include "lib/base/thread.h"

struct worker_pool {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	/* Guarded by lock, like is_stopping. */
	struct fair_queue *queue;
	bool is_stopping;
	struct metric *queued;
	pthread_t *threads;
	size_t thread_count;
};

/* With the lock held. False: the pool stops, and no job is left for this thread. */
static bool wait_for_job(struct worker_pool *pool, struct fair_queue_job *job)
{
	bool is_found;
	while (!(is_found = fair_queue_pop(pool->queue, job)) && !pool->is_stopping)
		pthread_cond_wait(&pool->wake, &pool->lock);
	if (is_found)
		metrics_add(pool->queued, -1);
	return is_found;
}

/*
 * A flow that has as many jobs running as it may is continued by the threads that run them, so
 * nobody needs to be woken when a job ends.
 */
static void *work(void *arg)
{
	struct worker_pool *pool = arg;
	struct fair_queue_job job;
	pthread_mutex_lock(&pool->lock);
	while (wait_for_job(pool, &job)) {
		pthread_mutex_unlock(&pool->lock);
		job.run(job.arg);
		pthread_mutex_lock(&pool->lock);
		fair_queue_end(pool->queue, &job);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

static void start_thread(struct worker_pool *pool, size_t i, const char *name)
{
	/* Linux keeps 15 bytes of a thread name. */
	char numbered[16];
	snprintf(numbered, sizeof(numbered), "%.12s-%u", name, (unsigned)(i % 100));
	thread_spawn(&pool->threads[i], numbered, work, pool);
}

struct worker_pool *worker_pool_new(const char *name, size_t threads, size_t queue_max)
{
	return worker_pool_new_fair(name, threads, queue_max, threads);
}

struct worker_pool *worker_pool_new_fair(const char *name, size_t threads, size_t queue_max,
                                         size_t flow_running_max)
{
	struct worker_pool *pool = mem_zero(sizeof(*pool));
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->wake, NULL);
	pool->queue = fair_queue_new(queue_max, flow_running_max);
	pool->threads = mem_array(threads, sizeof(*pool->threads));
	pool->thread_count = threads;
	for (size_t i = 0; i < threads; i++)
		start_thread(pool, i, name);
	return pool;
}

void worker_pool_set_queue_metric(struct worker_pool *pool, struct metric *queued)
{
	pool->queued = queued;
}

void worker_pool_free(struct worker_pool *pool)
{
	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->is_stopping = true;
	pthread_cond_broadcast(&pool->wake);
	pthread_mutex_unlock(&pool->lock);
	for (size_t i = 0; i < pool->thread_count; i++)
		pthread_join(pool->threads[i], NULL);
	pthread_cond_destroy(&pool->wake);
	pthread_mutex_destroy(&pool->lock);
	free(pool->threads);
	fair_queue_free(pool->queue);
	free(pool);
}

enum err worker_pool_submit_job(struct worker_pool *pool, const struct fair_queue_job *job,
                                size_t waiting_max)
{
	struct fair_queue_job replaced = { 0 };
	pthread_mutex_lock(&pool->lock);
	enum err err = fair_queue_push(pool->queue, job, waiting_max, &replaced);
	if (err == OK) {
		metrics_add(pool->queued, replaced.reject ? 0 : 1);
		pthread_cond_signal(&pool->wake);
	}
	pthread_mutex_unlock(&pool->lock);
	if (replaced.reject)
		replaced.reject(replaced.arg);
	return err;
}

enum err worker_pool_submit_for(struct worker_pool *pool, uint64_t flow, worker_pool_job job,
                                worker_pool_job reject, void *arg)
{
	return worker_pool_submit_job(
		pool,
		&(struct fair_queue_job){ .flow = flow, .run = job, .reject = reject, .arg = arg },
		SIZE_MAX);
}

enum err worker_pool_submit(struct worker_pool *pool, worker_pool_job job, void *arg)
{
	return worker_pool_submit_for(pool, 0, job, NULL, arg);
}
