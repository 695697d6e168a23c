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
	int64_t period_s;   /* from the start of a run to the start of the next */
	int64_t first_delay_s;
	int64_t at_least_s; /* how long the lock stays after a run has begun, however short it was */
	int64_t at_most_s;  /* how long the lock of a janitor that died stands in the way */
	enum err (*run)(struct run *run, int64_t *changed);
};

enum task_outcome {
	TASK_DONE,
	TASK_SKIPPED, /* another janitor has the lock */
	TASK_AWAY,    /* PostgreSQL cannot be reached */
	TASK_FAILED,
};

/*
 * Seconds from the start of a run to the next. After a skip: when the other's lock ends at the latest, should it have
 * died. After a failure: soon.
 */
int64_t task_delay_s(const struct task *task, enum task_outcome outcome);

#endif
