#include "services/janitor/task_metrics.h"

/* All series of one metric must be registered one after the other, hence one loop per metric. */
void task_metrics_register(struct metrics *metrics, const struct task *tasks, size_t count, struct task_metrics *out)
{
	for (size_t i = 0; i < count; i++)
		out[i].runs = metrics_counter(metrics, "waymark_janitor_runs_total",
		                              "Runs of the task by this janitor, successful or not.", tasks[i].labels);
	for (size_t i = 0; i < count; i++)
		out[i].skips = metrics_counter(metrics, "waymark_janitor_skips_total",
		                               "Runs skipped, because another janitor is running or has just run the task.",
		                               tasks[i].labels);
	for (size_t i = 0; i < count; i++)
		out[i].failures = metrics_counter(metrics, "waymark_janitor_failures_total",
		                                  "Runs that failed. A failed task is retried within seconds.",
		                                  tasks[i].labels);
	for (size_t i = 0; i < count; i++)
		out[i].rows = metrics_counter(metrics, "waymark_janitor_rows_changed_total",
		                              "Rows and partitions that the task created, changed or removed.",
		                              tasks[i].labels);
	for (size_t i = 0; i < count; i++)
		out[i].last_success =
			metrics_gauge(metrics, "waymark_janitor_last_success_timestamp_seconds",
		                      "Start of this janitor's last successful run; 0 = none yet.", tasks[i].labels);
	for (size_t i = 0; i < count; i++)
		out[i].lock_held = metrics_gauge(metrics, "waymark_janitor_lock_held",
		                                 "1 while this janitor holds the lock and runs the task.",
		                                 tasks[i].labels);
	for (size_t i = 0; i < count; i++)
		metrics_set(metrics_gauge(metrics, "waymark_janitor_period_seconds",
		                          "Configured time from the start of a run to the start of the next.",
		                          tasks[i].labels),
		            tasks[i].times.period_s);
}

void task_metrics_count(const struct task_metrics *metrics, enum task_outcome outcome, int64_t rows,
                        int64_t started_at_us)
{
	metrics_add(metrics->rows, rows);
	switch (outcome) {
	case TASK_DONE:
		metrics_add(metrics->runs, 1);
		metrics_set(metrics->last_success, started_at_us / CLOCK_US_PER_S);
		break;
	case TASK_SKIPPED:
		metrics_add(metrics->skips, 1);
		break;
	case TASK_FAILED:
		metrics_add(metrics->runs, 1);
		metrics_add(metrics->failures, 1);
		break;
	case TASK_UNREACHABLE:
		break;
	}
}
