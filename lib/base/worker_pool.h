/*
 * Safe from any thread. A fixed number of threads that run jobs from one bounded queue, for work that blocks (bcrypt,
 * PostgreSQL).
 */
#ifndef WAYMARK_LIB_BASE_WORKER_POOL_H
#define WAYMARK_LIB_BASE_WORKER_POOL_H

#include <stddef.h>

#include "lib/base/err.h"
#include "lib/base/metrics.h"

struct worker_pool;

typedef void (*worker_pool_job)(void *arg);

/* name (at most 12 characters) shows up as the threads' names. */
struct worker_pool *worker_pool_new(const char *name, size_t threads, size_t queue_max);

/* Before the first job: queued shows how many jobs wait. Several pools may share it. NULL = nowhere. */
void worker_pool_show_queue(struct worker_pool *pool, struct metric *queued);

/* Runs every queued job, then ends the threads. */
void worker_pool_free(struct worker_pool *pool);

/* ERR_LIMIT at once when queue_max jobs wait already: the job will not run. */
enum err worker_pool_submit(struct worker_pool *pool, worker_pool_job job, void *arg) MUST_CHECK;

/* For what must leave room for others: ERR_LIMIT also when waiting_max jobs wait already, whosever they are. */
enum err worker_pool_submit_behind(struct worker_pool *pool, size_t waiting_max, worker_pool_job job,
                                   void *arg) MUST_CHECK;

/* Jobs that wait, not counting those that run. */
size_t worker_pool_queued(const struct worker_pool *pool);

#endif
