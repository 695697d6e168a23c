#include "lib/base/worker_pool.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/mem.h"
#include "lib/base/thread.h"

struct queued_job {
	worker_pool_job run;
	void *arg;
};

struct worker_pool {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct queued_job *ring; /* guarded by lock, like the next four */
	size_t ring_size;
	size_t head;
	size_t waiting;
	size_t first; /* how many of them were submitted with worker_pool_submit_first */
	bool is_stopping;
	struct metric *queued;
	pthread_t *threads;
	size_t thread_count;
};

static bool take_job(struct worker_pool *pool, struct queued_job *job)
{
	pthread_mutex_lock(&pool->lock);
	while (pool->waiting == 0 && !pool->is_stopping)
		pthread_cond_wait(&pool->wake, &pool->lock);
	bool found = pool->waiting > 0;
	if (found) {
		*job = pool->ring[pool->head];
		pool->head = (pool->head + 1) % pool->ring_size;
		pool->waiting--;
		if (pool->first > 0)
			pool->first--;
		metrics_add(pool->queued, -1);
	}
	pthread_mutex_unlock(&pool->lock);
	return found;
}

static void *work(void *arg)
{
	struct worker_pool *pool = arg;
	struct queued_job job;
	while (take_job(pool, &job))
		job.run(job.arg);
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
	struct worker_pool *pool = mem_zero(sizeof(*pool));
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->wake, NULL);
	pool->ring = mem_array(queue_max, sizeof(*pool->ring));
	pool->ring_size = queue_max;
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
	free(pool->ring);
	free(pool);
}

enum err worker_pool_submit(struct worker_pool *pool, worker_pool_job job, void *arg)
{
	return worker_pool_submit_below(pool, pool->ring_size, job, arg);
}

static struct queued_job *job_at(struct worker_pool *pool, size_t place)
{
	return &pool->ring[(pool->head + place) % pool->ring_size];
}

/* Inserts the job at this place of the queue. The lock is held, and the queue is not full. */
static void insert(struct worker_pool *pool, size_t place, struct queued_job job)
{
	for (size_t i = pool->waiting; i > place; i--)
		*job_at(pool, i) = *job_at(pool, i - 1);
	*job_at(pool, place) = job;
	pool->waiting++;
	metrics_add(pool->queued, 1);
	pthread_cond_signal(&pool->wake);
}

enum err worker_pool_submit_first(struct worker_pool *pool, worker_pool_job job, void *arg)
{
	pthread_mutex_lock(&pool->lock);
	bool fits = pool->waiting < pool->ring_size;
	if (fits)
		insert(pool, pool->first++, (struct queued_job){ job, arg });
	pthread_mutex_unlock(&pool->lock);
	return fits ? OK : ERR_LIMIT;
}

enum err worker_pool_submit_below(struct worker_pool *pool, size_t waiting_max, worker_pool_job job,
                                  void *arg)
{
	pthread_mutex_lock(&pool->lock);
	bool fits = pool->waiting < waiting_max && pool->waiting < pool->ring_size;
	if (fits)
		insert(pool, pool->waiting, (struct queued_job){ job, arg });
	pthread_mutex_unlock(&pool->lock);
	return fits ? OK : ERR_LIMIT;
}
