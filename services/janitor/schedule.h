/*
 * One thread at a time. The janitor's timetable: which task runs when, each under a lock that only one janitor holds,
 * and each in a thread of its own, so that one that takes long or hangs does not delay the others.
 */
#ifndef WAYMARK_SERVICES_JANITOR_SCHEDULE_H
#define WAYMARK_SERVICES_JANITOR_SCHEDULE_H

#include <stdbool.h>

#include "lib/base/metrics.h"
#include "lib/base/shutdown.h"
#include "lib/net/pg_pool.h"
#include "services/janitor/config.h"

/* Each may hold one connection of the pool. */
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

/* Runs each task when it is due, until the end is asked for: then the batch at hand is finished and its lock let go. */
void schedule_follow(struct schedule *schedule);

/*
 * Runs each task once, now, one after the other, and leaves no lock behind. False if one failed; a task that another
 * janitor is doing has not.
 */
bool schedule_run_once(struct schedule *schedule);

#endif
