/*
 * Safe from any thread. The metrics waymark_janitor_* of each task, with the label task.
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

/* Fills one element of out per task. */
void task_metrics_register(struct metrics *metrics, const struct task *tasks, size_t count, struct task_metrics *out);

/* Counts a run: its outcome, the rows that it changed, and its start (wall time). */
void task_metrics_count(const struct task_metrics *metrics, enum task_outcome outcome, int64_t rows,
                        int64_t started_at_us);

#endif
