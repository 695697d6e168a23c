#include "services/janitor/schedule.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/entropy.h"
#include "lib/base/log_limited.h"
#include "lib/base/mem.h"
#include "lib/base/worker_pool.h"
#include "services/janitor/destinations/destinations.h"
#include "services/janitor/links/expiry.h"
#include "services/janitor/links/link_lists.h"
#include "services/janitor/retention/partitions.h"
#include "services/janitor/retention/retention.h"
#include "services/janitor/retention/rollups.h"
#include "services/janitor/retention/salts.h"
#include "services/janitor/tasks/task.h"

/* The schedule: one row per task. Its times are settings (config.c). */
#define TASK(name, member, run)                                                                    \
	{                                                                                          \
		name, "waymark-" name, "task=\"" name "\"", config_times(c, &c->member), run       \
	}

static size_t fill_tasks(const struct config *c, struct task out[static SCHEDULE_TASKS_MAX])
{
	const struct task table[] = {
		TASK("salts", salts, salts_run),
		TASK("partitions", partitions, partitions_run),
		TASK("expiry", expiry, expiry_run),
		TASK("retention", retention, retention_run),
		TASK("lists", link_lists, link_lists_run),
		TASK("rollups", rollups, rollups_run),
		/* Last, because it is left out when DESTINATION_CHECKS is off. */
		TASK("destinations", destinations, destinations_run),
	};
	const size_t count = ARRAY_SIZE(table);
	static_assert(ARRAY_SIZE(table) <= SCHEDULE_TASKS_MAX, "raise SCHEDULE_TASKS_MAX");
	for (size_t i = 0; i < count; i++)
		out[i] = table[i];
	return c->destination_checks ? count : count - 1;
}

/* The metrics waymark_janitor_* of one task, with the label task. */
struct task_metrics {
	struct metric *failures;
	struct metric *rows;
	struct metric *last_success;
	struct metric *lock_held;
};

/* A task and the state of its thread. */
struct scheduled_task {
	struct schedule *schedule;
	const struct task *task;
	struct fenced_lock lock;
	struct task_metrics metrics;
	/* Steady. */
	int64_t due_us;
	enum task_outcome last_outcome;
};

struct schedule {
	struct schedule_config config;
	size_t count;
	struct task tasks[SCHEDULE_TASKS_MAX];
	struct metric *audit_log_dropped;
	struct scheduled_task scheduled[SCHEDULE_TASKS_MAX];
};

/* All series of one metric must be registered one after the other, hence one loop per metric. */
static void register_metrics(struct metrics *metrics, const struct task *tasks, size_t count,
                             struct task_metrics *out)
{
	for (size_t i = 0; i < count; i++)
		out[i].failures = metrics_counter(
			metrics, "waymark_janitor_failures_total",
			"Runs that failed. A failed task is retried within seconds.",
			tasks[i].labels);
	for (size_t i = 0; i < count; i++)
		out[i].rows = metrics_counter(
			metrics, "waymark_janitor_rows_changed_total",
			"Rows and partitions that the task created, changed or removed.",
			tasks[i].labels);
	for (size_t i = 0; i < count; i++)
		out[i].last_success =
			metrics_gauge(metrics, "waymark_janitor_last_success_timestamp_seconds",
		                      "Start of this janitor's last successful run; 0 = none yet.",
		                      tasks[i].labels);
	for (size_t i = 0; i < count; i++)
		out[i].lock_held = metrics_gauge(
			metrics, "waymark_janitor_lock_held",
			"1 while this janitor holds the lock and runs the task.", tasks[i].labels);
	for (size_t i = 0; i < count; i++)
		metrics_set(
			metrics_gauge(
				metrics, "waymark_janitor_period_seconds",
				"Configured time from the start of a run to the start of the next.",
				tasks[i].labels),
			tasks[i].times.period_s);
}

/* started_at_us: wall time. */
static void count_run(const struct task_metrics *metrics, enum task_outcome outcome, int64_t rows,
                      int64_t started_at_us)
{
	metrics_add(metrics->rows, rows);
	switch (outcome) {
	case TASK_DONE:
		metrics_set(metrics->last_success, started_at_us / CLOCK_US_PER_S);
		break;
	case TASK_FAILED:
		metrics_add(metrics->failures, 1);
		break;
	case TASK_SKIPPED:
	case TASK_UNREACHABLE:
		break;
	}
}

/* The lock's holder: unique per process start, even on one host. */
static void format_holder(char *out, size_t size)
{
	char host[128] = "?";
	uint8_t uuid[ENTROPY_UUID_SIZE];
	char text[ENTROPY_UUID_TEXT_SIZE];
	(void)gethostname(host, sizeof(host) - 1);
	entropy_uuid4(uuid);
	entropy_uuid_format(uuid, text);
	snprintf(out, size, "%s/%d/%s", host, (int)getpid(), text);
}

static void prepare(struct scheduled_task *st, struct schedule *s, const struct task *task,
                    const char *holder)
{
	const struct clock *clock = s->config.clock;
	st->schedule = s;
	st->task = task;
	st->last_outcome = TASK_DONE;
	st->due_us =
		clock_steady_us(clock) + task_first_delay_us(&task->times, clock_now_us(clock));
	if (fenced_lock_init(&st->lock, task->lock, holder) != OK)
		abort(); /* a name of ours is too long */
}

struct schedule *schedule_new(const struct schedule_config *config)
{
	struct schedule *s = mem_zero(sizeof(*s));
	struct task_metrics metrics[SCHEDULE_TASKS_MAX];
	char holder[FENCED_LOCK_HOLDER_MAX + 1];
	s->config = *config;
	format_holder(holder, sizeof(holder));
	s->count = fill_tasks(config->config, s->tasks);
	register_metrics(config->metrics, s->tasks, s->count, metrics);
	s->audit_log_dropped = metrics_counter(
		config->metrics, "waymark_audit_log_dropped_total",
		"Entries deleted before AUDIT_LOG_KEEP_DAYS, because of AUDIT_LOG_ENTRIES_MAX.",
		NULL);
	for (size_t i = 0; i < s->count; i++) {
		prepare(&s->scheduled[i], s, &s->tasks[i], holder);
		s->scheduled[i].metrics = metrics[i];
	}
	return s;
}

void schedule_free(struct schedule *schedule)
{
	free(schedule);
}

/*
 * ERR_CONFLICT: nothing to do for *wait_ms. Reading the lock blocks no other session, whereas an
 * attempt to acquire it waits for the holder's batch and delays the next one.
 *
 * A free lock is taken at once, with one exception: after a skipped run it is left alone while the
 * run that the other janitor completed is recent (task_wait_ms).
 */
static enum err check_due(const struct scheduled_task *st, struct pg_conn *conn, int64_t *wait_ms)
{
	struct fenced_lock_state state;
	enum err err = fenced_lock_query(&st->lock, conn, &state);
	if (err == ERR_NOT_FOUND)
		return OK;
	if (err != OK)
		return err;
	int64_t ms = task_wait_ms(&st->task->times, &state);
	if (ms <= 0 || (state.left_ms <= 0 && st->last_outcome != TASK_SKIPPED))
		return OK;
	*wait_ms = ms;
	return ERR_CONFLICT;
}

static enum err acquire(struct scheduled_task *st, struct run *run, int64_t *wait_ms)
{
	/* The last run may have lost its connection before it released the lock. */
	enum err err = fenced_lock_release(run->lock, run->conn, 0);
	if (err == OK)
		err = check_due(st, run->conn, wait_ms);
	if (err != OK)
		return err;
	err = run_start(run);
	if (err != ERR_CONFLICT)
		return err;
	*wait_ms = 1; /* in case the lock expires between the two queries */
	err = check_due(st, run->conn, wait_ms);
	return err == OK ? ERR_CONFLICT : err;
}

static enum err work(struct scheduled_task *st, struct run *run, int64_t *rows)
{
	metrics_set(st->metrics.lock_held, 1);
	enum err err = st->task->run(run, rows);
	run_end(run, err == OK && !run->is_interrupted);
	metrics_set(st->metrics.lock_held, 0);
	return err;
}

static enum task_outcome run_locked(struct scheduled_task *st, struct pg_conn *conn,
                                    bool keeps_lock, int64_t *rows, int64_t *wait_ms)
{
	const struct schedule_config *config = &st->schedule->config;
	const struct task_times *times = &st->task->times;
	struct run run = {
		.config = config->config,
		.clock = config->clock,
		.shutdown = config->shutdown,
		.log = config->log,
		.conn = conn,
		.lock = &st->lock,
		.at_least_ms = keeps_lock ? task_at_least_s(times) * 1000 : 0,
		.at_most_ms = times->at_most_s * 1000,
		.audit_log_dropped = st->schedule->audit_log_dropped,
	};
	enum err err = acquire(st, &run, wait_ms);
	if (err == ERR_CONFLICT)
		return TASK_SKIPPED;
	if (err == OK)
		err = work(st, &run, rows);
	if (err != OK)
		log_limited_warning(config->log, "task_failed", LOG_TEXT("task", st->task->name),
		                    LOG_TEXT("error", err_name(err)), LOG_INT("rows", *rows));
	return err == OK ? TASK_DONE : TASK_FAILED;
}

/* keeps_lock: a complete run keeps the lock for at_least_s. */
static enum task_outcome run_task(struct scheduled_task *st, bool keeps_lock)
{
	const struct schedule_config *config = &st->schedule->config;
	const char *name = st->task->name;
	int64_t started_at_us = clock_now_us(config->clock),
		started_us = clock_steady_us(config->clock);
	int64_t rows = 0, wait_ms = 0;
	struct pg_conn *conn = NULL;
	enum task_outcome outcome = TASK_UNREACHABLE;
	if (pg_pool_acquire(config->postgres, &conn) == OK) {
		outcome = run_locked(st, conn, keeps_lock, &rows, &wait_ms);
		pg_pool_release(config->postgres, conn);
	}
	count_run(&st->metrics, outcome, rows, started_at_us);
	st->last_outcome = outcome;
	if (outcome == TASK_SKIPPED)
		st->due_us = clock_steady_us(config->clock) + wait_ms * CLOCK_US_PER_MS;
	else
		st->due_us =
			started_us + task_delay_ms(&st->task->times, outcome) * CLOCK_US_PER_MS;
	if (outcome == TASK_DONE)
		LOG_AT(config->log, rows > 0 ? LOG_INFO : LOG_DEBUG, "task_done",
		       LOG_TEXT("task", name), LOG_INT("rows", rows),
		       LOG_INT("took_us", clock_steady_us(config->clock) - started_us));
	if (outcome == TASK_SKIPPED)
		log_debug(config->log, "task_skipped", LOG_TEXT("task", name),
		          LOG_INT("wait_ms", wait_ms));
	return outcome;
}

static void run_until_shutdown(void *arg)
{
	struct scheduled_task *st = arg;
	const struct schedule_config *config = &st->schedule->config;
	while (!shutdown_requested(config->shutdown)) {
		int64_t wait_us = st->due_us - clock_steady_us(config->clock);
		if (wait_us <= 0)
			run_task(st, true);
		else
			(void)shutdown_wait_ms(config->shutdown, wait_us / CLOCK_US_PER_MS + 1);
	}
}

void schedule_run(struct schedule *schedule)
{
	struct worker_pool *threads = worker_pool_new("task", schedule->count, schedule->count);
	for (size_t i = 0; i < schedule->count; i++) {
		if (worker_pool_submit(threads, run_until_shutdown, &schedule->scheduled[i]) != OK)
			abort(); /* the pool has one thread per task */
	}
	worker_pool_free(threads);
}

bool schedule_run_once(struct schedule *schedule)
{
	bool succeeded = true;
	for (size_t i = 0; i < schedule->count && !shutdown_requested(schedule->config.shutdown);
	     i++) {
		enum task_outcome outcome = run_task(&schedule->scheduled[i], false);
		succeeded = succeeded && (outcome == TASK_DONE || outcome == TASK_SKIPPED);
	}
	return succeeded;
}
