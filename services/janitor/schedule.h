/*
 * One thread at a time. Runs the janitor's tasks when they are due. Each task has a lock of its
 * own, so only one janitor runs it at a time, and a thread of its own, so a slow task does not
 * delay the others.
 */
#ifndef WAYMARK_SERVICES_JANITOR_SCHEDULE_H
#define WAYMARK_SERVICES_JANITOR_SCHEDULE_H

#include <stdbool.h>

#include "lib/base/metrics.h"
#include "lib/base/shutdown.h"
#include "lib/postgres/fenced_lock.h"
#include "lib/postgres/pg_pool.h"
#include "services/janitor/tasks/config.h"

/* Each task may hold one connection of the pool. */
#define SCHEDULE_TASKS_MAX 8

struct schedule;

struct schedule_config {
	const struct config *config;
	struct pg_pool *postgres;
	struct shutdown *shutdown;
	const struct clock *clock;
	const struct log *log;
	struct metrics *metrics;
};

struct schedule *schedule_new(const struct schedule_config *config);
void schedule_free(struct schedule *schedule);

/*
 * Runs each task when it is due, until a shutdown is requested. Running tasks then finish their
 * current batch and release their locks.
 */
void schedule_run(struct schedule *schedule);

/*
 * Runs each task once, one after the other, and leaves no lock behind. False if a task failed. A
 * task that another janitor is running does not count as failed.
 */
bool schedule_run_once(struct schedule *schedule);

/* --- pure: when a task runs next --- */

enum schedule_outcome {
	SCHEDULE_DONE,
	SCHEDULE_SKIPPED,     /* another janitor is running the task, or has just run it */
	SCHEDULE_UNREACHABLE, /* PostgreSQL cannot be reached */
	SCHEDULE_FAILED,
};

/*
 * How long a complete run keeps the lock, counted from its start: the configured time, but at most
 * two thirds of the period, so that the next run may start a little early.
 */
int64_t schedule_at_least_s(const struct task_times *times);

/* From program start to the first run; now_us is wall time. */
int64_t schedule_first_delay_us(const struct task_times *times, int64_t now_us);

/* From the start of a run with that outcome to the next one; short after a failure. */
int64_t schedule_delay_ms(const struct task_times *times, enum schedule_outcome outcome);

/*
 * How long to wait when the lock is in that state; 0 or less: try to acquire it. While another
 * janitor works, or after it crashed: until the lock expires. After another janitor's complete run:
 * until the next run is due.
 */
int64_t schedule_wait_ms(const struct task_times *times, const struct fenced_lock_state *state);

#endif
