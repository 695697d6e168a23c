/*
 * Safe from any thread. What operators see of one task: waymark_janitor_… with the label task.
 */
#ifndef WAYMARK_SERVICES_JANITOR_TASK_METRICS_H
#define WAYMARK_SERVICES_JANITOR_TASK_METRICS_H

#include "lib/base/metrics.h"
#include "services/janitor/task.h"

struct task_metrics {
	struct metric *runs;
	struct metric *skips;
	struct metric *failures;
	struct metric *rows;
	struct metric *last_success;
	struct metric *lock_held;
};

/* One of out for each task. */
void task_metrics_register(struct metrics *metrics, const struct task *tasks, size_t count, struct task_metrics *out);

/* After a run: rows that it changed, and when it began (wall time). */
void task_metrics_count(const struct task_metrics *metrics, enum task_outcome outcome, int64_t rows,
                        int64_t began_at_us);

#endif
