/* Pure. A row of the schedule, and the rules that say when a task runs next. */
#ifndef WAYMARK_SERVICES_JANITOR_TASKS_TASK_H
#define WAYMARK_SERVICES_JANITOR_TASKS_TASK_H

#include "services/janitor/tasks/run.h"

struct task {
	const char *name;
	/* Its row in the table shedlock. */
	const char *lock;
	/* Of its metrics. */
	const char *labels;
	struct task_times times;
	enum err (*run)(struct run *run, int64_t *changed);
};

enum task_outcome {
	TASK_DONE,
	TASK_SKIPPED,     /* another janitor is running it, or has just run it */
	TASK_UNREACHABLE, /* PostgreSQL cannot be reached */
	TASK_FAILED,
};

/*
 * How long a complete run keeps the lock, counted from its start: the configured time, but at most
 * two thirds of the period, so that the next run may start a little early.
 */
int64_t task_at_least_s(const struct task_times *times);

/* From program start to the first run; now_us is wall time. */
int64_t task_first_delay_us(const struct task_times *times, int64_t now_us);

/* From the start of a run with that outcome to the next one; short after a failure. */
int64_t task_delay_ms(const struct task_times *times, enum task_outcome outcome);

/*
 * How long to wait when the lock is in that state; 0 or less: try to acquire it. While another
 * janitor works, or after it crashed: until the lock expires. After another janitor's complete run:
 * until the next run is due.
 */
int64_t task_wait_ms(const struct task_times *times, const struct fenced_lock_state *state);

#endif
