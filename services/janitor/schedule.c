#include "services/janitor/schedule.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "lib/base/entropy.h"
#include "lib/base/log.h"
#include "lib/base/mem.h"
#include "lib/base/worker_pool.h"
#include "services/janitor/destinations/destinations.h"
#include "services/janitor/links/links.h"
#include "services/janitor/mail/mail.h"
#include "services/janitor/retention/days.h"
#include "services/janitor/retention/rollups.h"

#define MS_PER_S INT64_C(1000)
#define UNREACHABLE_DELAY_MS 1000
#define FAILED_DELAY_MS 5000

struct task {
	const char *name;
	/* Its row in the table shedlock. */
	const char *lock;
	/* Of its metrics. */
	const char *labels;
	struct task_times times;
	enum err (*run)(struct run *run, int64_t *changed);
	/* False: left out, because a setting says so. */
	bool is_on;
};

/* --- when a task runs next --- */

static int64_t min_of(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t max_of(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

int64_t schedule_at_least_s(const struct task_times *times)
{
	return min_of(times->at_least_s, times->period_s * 2 / 3);
}

int64_t schedule_first_delay_us(const struct task_times *times, int64_t now_us)
{
	if (times->after_midnight_s == 0)
		return times->first_delay_s * CLOCK_US_PER_S;
	int64_t into_day_us = now_us - clock_utc_day(now_us) * CLOCK_US_PER_DAY;
	int64_t wait_us = times->after_midnight_s * CLOCK_US_PER_S - into_day_us;
	return wait_us < 0 ? wait_us + CLOCK_US_PER_DAY : wait_us;
}

int64_t schedule_delay_ms(const struct task_times *times, enum schedule_outcome outcome)
{
	int64_t period_ms = times->period_s * MS_PER_S;
	if (outcome == SCHEDULE_UNREACHABLE)
		return min_of(period_ms, UNREACHABLE_DELAY_MS);
	if (outcome == SCHEDULE_FAILED)
		return min_of(period_ms, FAILED_DELAY_MS);
	return period_ms;
}

/*
 * A holder sets the lock's end when it takes the lock and again when its run ends. So the time from
 * the lock's start to its end shows what the holder did. At least at_most_s: it is working or has
 * crashed. At least at_least_s: it completed a run. Less: it gave up early.
 */
int64_t schedule_wait_ms(const struct task_times *times, const struct fenced_lock_state *state)
{
	int64_t period_ms = times->period_s * MS_PER_S;
	int64_t lifetime_ms = state->left_ms + state->since_ms;
	int64_t wait_ms = state->left_ms;
	if (lifetime_ms < times->at_most_s * MS_PER_S &&
	    lifetime_ms >= schedule_at_least_s(times) * MS_PER_S)
		wait_ms = max_of(wait_ms, period_ms - state->since_ms);
	/* Another user of ShedLock may have written any time into the row. */
	return min_of(wait_ms, period_ms);
}

/* --- the tasks and their threads --- */

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
	struct task task;
	struct fenced_lock lock;
	struct task_metrics metrics;
	/* Steady. */
	int64_t due_us;
	enum schedule_outcome last_outcome;
};

struct schedule {
	struct schedule_config config;
	size_t count;
	struct scheduled_task tasks[SCHEDULE_TASKS_MAX];
	struct metric *audit_log_dropped;
	struct run_mail_metrics mail;
};

/* The schedule: one row per task. Its times are settings (config.c). */
#define TASK(name, member, run, is_on)                                                             \
	{                                                                                          \
		name, "waymark-" name, "task=\"" name "\"", c->member, run, is_on                  \
	}

static void fill_tasks(struct schedule *s)
{
	const struct config *c = s->config.config;
	const struct task table[] = {
		TASK("salts", salts, days_make_salts, true),
		TASK("partitions", partitions, days_make_partitions, true),
		TASK("expiry", expiry, links_expire, true),
		TASK("retention", retention, days_delete_old, true),
		TASK("lists", link_lists, links_refresh_lists, true),
		TASK("rollups", rollups, rollups_run, true),
		TASK("destinations", destinations, destinations_run, c->destination_checks),
		TASK("mail", mail, mail_run, c->smtp_url[0] != '\0'),
	};
	static_assert(ARRAY_SIZE(table) <= SCHEDULE_TASKS_MAX, "raise SCHEDULE_TASKS_MAX");
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i].is_on)
			s->tasks[s->count++].task = table[i];
}

/* All series of one metric must be registered one after the other, hence one loop per metric. */
static void register_metrics(struct schedule *s)
{
	struct metrics *metrics = s->config.metrics;
	for (size_t i = 0; i < s->count; i++)
		s->tasks[i].metrics.failures = metrics_counter(
			metrics, "waymark_janitor_failures_total",
			"Runs that failed. A failed task is retried within seconds.",
			s->tasks[i].task.labels);
	for (size_t i = 0; i < s->count; i++)
		s->tasks[i].metrics.rows = metrics_counter(
			metrics, "waymark_janitor_rows_changed_total",
			"Rows and partitions that the task created, changed or removed.",
			s->tasks[i].task.labels);
	for (size_t i = 0; i < s->count; i++)
		s->tasks[i].metrics.last_success =
			metrics_gauge(metrics, "waymark_janitor_last_success_timestamp_seconds",
		                      "Start of this janitor's last successful run; 0 = none yet.",
		                      s->tasks[i].task.labels);
	for (size_t i = 0; i < s->count; i++)
		s->tasks[i].metrics.lock_held =
			metrics_gauge(metrics, "waymark_janitor_lock_held",
		                      "1 while this janitor holds the lock and runs the task.",
		                      s->tasks[i].task.labels);
	for (size_t i = 0; i < s->count; i++)
		metrics_set(
			metrics_gauge(
				metrics, "waymark_janitor_period_seconds",
				"Configured time from the start of a run to the start of the next.",
				s->tasks[i].task.labels),
			s->tasks[i].task.times.period_s);
	s->audit_log_dropped = metrics_counter(
		metrics, "waymark_audit_log_dropped_total",
		"Entries deleted before AUDIT_LOG_KEEP_DAYS, because of AUDIT_LOG_ENTRIES_MAX.",
		NULL);
	mail_metrics_init(&s->mail, metrics);
}

/* started_at_us: wall time. */
static void count_run(const struct task_metrics *metrics, enum schedule_outcome outcome,
                      int64_t rows, int64_t started_at_us)
{
	metrics_add(metrics->rows, rows);
	switch (outcome) {
	case SCHEDULE_DONE:
		metrics_set(metrics->last_success, started_at_us / CLOCK_US_PER_S);
		break;
	case SCHEDULE_FAILED:
		metrics_add(metrics->failures, 1);
		break;
	case SCHEDULE_SKIPPED:
	case SCHEDULE_UNREACHABLE:
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

struct schedule *schedule_new(const struct schedule_config *config)
{
	struct schedule *s = mem_zero(sizeof(*s));
	char holder[FENCED_LOCK_HOLDER_MAX + 1];
	s->config = *config;
	format_holder(holder, sizeof(holder));
	fill_tasks(s);
	register_metrics(s);
	for (size_t i = 0; i < s->count; i++) {
		struct scheduled_task *st = &s->tasks[i];
		st->schedule = s;
		st->last_outcome = SCHEDULE_DONE;
		st->due_us = clock_steady_us(config->clock) +
		             schedule_first_delay_us(&st->task.times, clock_now_us(config->clock));
		if (fenced_lock_init(&st->lock, st->task.lock, holder) != OK)
			abort(); /* a name of ours is too long */
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
 * run that the other janitor completed is recent (schedule_wait_ms).
 */
static enum err check_due(const struct scheduled_task *st, struct pg_conn *conn, int64_t *wait_ms)
{
	struct fenced_lock_state state;
	enum err err = fenced_lock_query(&st->lock, conn, &state);
	if (err == ERR_NOT_FOUND)
		return OK;
	if (err != OK)
		return err;
	int64_t ms = schedule_wait_ms(&st->task.times, &state);
	if (ms <= 0 || (state.left_ms <= 0 && st->last_outcome != SCHEDULE_SKIPPED))
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
	enum err err = st->task.run(run, rows);
	run_end(run, err == OK && !run->is_interrupted);
	metrics_set(st->metrics.lock_held, 0);
	return err;
}

static enum schedule_outcome run_locked(struct scheduled_task *st, struct pg_conn *conn,
                                        bool keeps_lock, int64_t *rows, int64_t *wait_ms)
{
	const struct schedule_config *config = &st->schedule->config;
	const struct task_times *times = &st->task.times;
	struct run run = {
		.config = config->config,
		.clock = config->clock,
		.shutdown = config->shutdown,
		.log = config->log,
		.conn = conn,
		.lock = &st->lock,
		.at_least_ms = keeps_lock ? schedule_at_least_s(times) * 1000 : 0,
		.at_most_ms = times->at_most_s * 1000,
		.audit_log_dropped = st->schedule->audit_log_dropped,
		.mail = st->schedule->mail,
	};
	enum err err = acquire(st, &run, wait_ms);
	if (err == ERR_CONFLICT)
		return SCHEDULE_SKIPPED;
	if (err == OK)
		err = work(st, &run, rows);
	if (err != OK)
		log_limited_warning(config->log, "task_failed", LOG_TEXT("task", st->task.name),
		                    LOG_TEXT("error", err_name(err)), LOG_INT("rows", *rows));
	return err == OK ? SCHEDULE_DONE : SCHEDULE_FAILED;
}

/* keeps_lock: a complete run keeps the lock for at_least_s. */
static enum schedule_outcome run_task(struct scheduled_task *st, bool keeps_lock)
{
	const struct schedule_config *config = &st->schedule->config;
	const char *name = st->task.name;
	int64_t started_at_us = clock_now_us(config->clock),
		started_us = clock_steady_us(config->clock);
	int64_t rows = 0, wait_ms = 0;
	struct pg_conn *conn = NULL;
	enum schedule_outcome outcome = SCHEDULE_UNREACHABLE;
	if (pg_pool_acquire(config->postgres, &conn) == OK) {
		outcome = run_locked(st, conn, keeps_lock, &rows, &wait_ms);
		pg_pool_release(config->postgres, conn);
	}
	count_run(&st->metrics, outcome, rows, started_at_us);
	st->last_outcome = outcome;
	if (outcome == SCHEDULE_SKIPPED)
		st->due_us = clock_steady_us(config->clock) + wait_ms * CLOCK_US_PER_MS;
	else
		st->due_us =
			started_us + schedule_delay_ms(&st->task.times, outcome) * CLOCK_US_PER_MS;
	if (outcome == SCHEDULE_DONE)
		LOG_AT(config->log, rows > 0 ? LOG_INFO : LOG_DEBUG, "task_done",
		       LOG_TEXT("task", name), LOG_INT("rows", rows),
		       LOG_INT("took_us", clock_steady_us(config->clock) - started_us));
	if (outcome == SCHEDULE_SKIPPED)
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
		if (worker_pool_submit(threads, run_until_shutdown, &schedule->tasks[i]) != OK)
			abort(); /* the pool has one thread per task */
	}
	worker_pool_free(threads);
}

bool schedule_run_once(struct schedule *schedule)
{
	bool succeeded = true;
	for (size_t i = 0; i < schedule->count && !shutdown_requested(schedule->config.shutdown);
	     i++) {
		enum schedule_outcome outcome = run_task(&schedule->tasks[i], false);
		succeeded = succeeded && (outcome == SCHEDULE_DONE || outcome == SCHEDULE_SKIPPED);
	}
	return succeeded;
}
