/*
 * Pure. What stands in the timetable, and when a task's turn is again.
 */
#ifndef WAYMARK_SERVICES_JANITOR_TASK_H
#define WAYMARK_SERVICES_JANITOR_TASK_H

#include "services/janitor/run.h"

struct task {
	const char *name;
	const char *lock;   /* its row in shedlock */
	const char *labels; /* of its metrics */
	struct task_times times;
	enum err (*run)(struct run *run, int64_t *changed);
};

enum task_outcome {
	TASK_DONE,
	TASK_SKIPPED, /* another janitor does it, or has just done it */
	TASK_AWAY,    /* PostgreSQL cannot be reached */
	TASK_FAILED,
};

/*
 * How long the lock stays after a whole run has begun: what was configured, but at most two thirds of the period, so
 * that the next run may come a little early.
 */
int64_t task_at_least_s(const struct task_times *times);

/* From the start of the program to the first run; now_us is wall time. */
int64_t task_first_delay_us(const struct task_times *times, int64_t now_us);

/* From the start of a run with that outcome to the next. After a failure: soon. Not for TASK_SKIPPED. */
int64_t task_delay_ms(const struct task_times *times, enum task_outcome outcome);

/*
 * How long there is nothing to do for those who find the lock in that state; not positive: try to take it. While
 * somebody works, or died at it: until the lock runs out. After somebody's whole run: until that run's next turn.
 */
int64_t task_wait_ms(const struct task_times *times, const struct fenced_lock_state *state);

#endif
