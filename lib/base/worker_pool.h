/*
 * A fixed number of threads that run jobs from one bounded queue, for work that blocks (bcrypt,
 * PostgreSQL).
 *
 * Safe from any thread.
 */
#ifndef WAYMARK_LIB_BASE_WORKER_POOL_H
#define WAYMARK_LIB_BASE_WORKER_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/fair_queue.h"
#include "lib/base/metrics.h"

struct worker_pool;

typedef void (*worker_pool_job)(void *arg);

/* name (at most 12 characters) appears in the names of the threads. */
struct worker_pool *worker_pool_new(const char *name, size_t threads, size_t queue_max);

/*
 * The same, but jobs that are submitted for a flow wait in a fair queue (fair_queue.h), and at most
 * flow_running_max of them run at the same time for one flow.
 */
struct worker_pool *worker_pool_new_fair(const char *name, size_t threads, size_t queue_max,
                                         size_t flow_running_max);

/*
 * Sets a gauge that shows how many jobs are waiting. Several pools may share it. NULL = none. Call
 * it before the first job.
 */
void worker_pool_set_queue_metric(struct worker_pool *pool, struct metric *queued);

/* Runs every queued job, then stops the threads. */
void worker_pool_free(struct worker_pool *pool);

/* ERR_LIMIT at once if queue_max jobs are already waiting; the job will not run. */
enum err worker_pool_submit(struct worker_pool *pool, worker_pool_job job, void *arg) MUST_CHECK;

/*
 * For a job of one flow, an account for example: see fair_queue_push, also for waiting_max. The job
 * that it replaces is rejected in the thread that submits, and its run never runs.
 */
enum err worker_pool_submit_job(struct worker_pool *pool, const struct fair_queue_job *job,
                                size_t waiting_max) MUST_CHECK;

/* The same without a first place and without waiting_max. */
enum err worker_pool_submit_for(struct worker_pool *pool, uint64_t flow, worker_pool_job job,
                                worker_pool_job reject, void *arg) MUST_CHECK;

#endif
