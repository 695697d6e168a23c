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

#endif
