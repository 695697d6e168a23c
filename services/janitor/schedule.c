#include "services/janitor/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/entropy.h"
#include "lib/base/mem.h"
#include "services/janitor/destinations.h"
#include "services/janitor/expiry.h"
#include "services/janitor/partitions.h"
#include "services/janitor/salts.h"
#include "services/janitor/task_metrics.h"

/* Quick tasks take milliseconds: another janitor need not wait long to take over. */
#define QUICK_AT_LEAST_S 10
#define QUICK_AT_MOST_S 60

enum { TASKS = 4 };

struct turn {
	struct fenced_lock lock;
	struct task_metrics metrics;
	int64_t due_us; /* steady */
};

struct schedule {
	struct schedule_config with;
	size_t count;
	struct task tasks[TASKS];
	struct turn turns[TASKS];
};

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Of a period of which a third is left for the next run to come a little early. */
static int64_t at_least_s(int64_t wanted_s, int64_t period_s)
{
	return smaller(wanted_s, period_s * 2 / 3);
}

static size_t fill_timetable(const struct config *c, struct task out[static TASKS])
{
	int64_t quick_at_least_s = smaller(c->lock_at_least_s, QUICK_AT_LEAST_S);
	int64_t quick_at_most_s = smaller(c->lock_at_most_s, QUICK_AT_MOST_S);
	const struct task table[TASKS] = {
		{ "salts", "waymark-salts", "task=\"salts\"", c->salts_period_s, c->salts_first_delay_s,
		  at_least_s(quick_at_least_s, c->salts_period_s), quick_at_most_s, salts_run },
		{ "partitions", "waymark-partitions", "task=\"partitions\"", c->partitions_period_s,
		  c->partitions_first_delay_s, at_least_s(quick_at_least_s, c->partitions_period_s), quick_at_most_s,
		  partitions_run },
		{ "expiry", "waymark-expiry", "task=\"expiry\"", c->expiry_period_s, c->expiry_first_delay_s,
		  at_least_s(c->lock_at_least_s, c->expiry_period_s), c->lock_at_most_s, expiry_run },
		/* Last: it is left out when it is off. */
		{ "destinations", "waymark-destinations", "task=\"destinations\"", c->destinations_period_s,
		  c->destinations_first_delay_s, at_least_s(quick_at_least_s, c->destinations_period_s),
		  quick_at_most_s, destinations_run },
	};
	for (size_t i = 0; i < TASKS; i++)
		out[i] = table[i];
	return c->destination_checks ? TASKS : TASKS - 1;
}

/* Who holds a lock: never the same twice, not even on one host. */
static void name_holder(char *out, size_t size)
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
	struct task_metrics metrics[TASKS];
	char holder[FENCED_LOCK_HOLDER_MAX + 1];
	s->with = *config;
	name_holder(holder, sizeof(holder));
	s->count = fill_timetable(config->config, s->tasks);
	task_metrics_register(config->metrics, s->tasks, s->count, metrics);
	for (size_t i = 0; i < s->count; i++) {
		s->turns[i].metrics = metrics[i];
		s->turns[i].due_us = clock_steady_us(config->clock) + s->tasks[i].first_delay_s * CLOCK_US_PER_S;
		if (fenced_lock_init(&s->turns[i].lock, s->tasks[i].lock, holder) != OK)
			abort(); /* names are literals */
	}
	return s;
}

void schedule_free(struct schedule *schedule)
{
	free(schedule);
}

/* After a run that is not whole nobody need wait for the rest of it. */
static void let_go(const struct task *task, struct run *run, enum err result, bool at_once)
{
	bool whole = result == OK && !run->interrupted && !at_once;
	enum err err = fenced_lock_release(run->lock, run->conn, whole ? task->at_least_s * 1000 : 0);
	/* The next run tries again: it may come before the lock ends. */
	(void)err;
}

static enum task_outcome run_locked(struct schedule *s, size_t i, struct pg_conn *conn, bool at_once, int64_t *rows)
{
	const struct task *task = &s->tasks[i];
	struct turn *turn = &s->turns[i];
	struct run run = {
		.config = s->with.config,
		.clock = s->with.clock,
		.shutdown = s->with.shutdown,
		.conn = conn,
		.lock = &turn->lock,
		.at_most_ms = task->at_most_s * 1000,
	};
	/* Left over when the connection broke in the middle of the last run. */
	enum err err = fenced_lock_release(run.lock, conn, 0);
	if (err == OK)
		err = run_start(&run);
	if (err == ERR_CONFLICT)
		return TASK_SKIPPED;
	if (err == OK) {
		metrics_set(turn->metrics.lock_held, 1);
		err = task->run(&run, rows);
		let_go(task, &run, err, at_once);
		metrics_set(turn->metrics.lock_held, 0);
	}
	if (err != OK)
		log_warning(s->with.log, "task_failed", LOG_TEXT("task", task->name), LOG_TEXT("error", err_name(err)),
		            LOG_INT("rows", *rows));
	return err == OK ? TASK_DONE : TASK_FAILED;
}

static enum task_outcome run_task(struct schedule *s, size_t i, bool at_once)
{
	int64_t began_at_us = clock_now_us(s->with.clock), began_us = clock_steady_us(s->with.clock), rows = 0;
	struct pg_conn *conn = NULL;
	enum task_outcome outcome = TASK_AWAY;
	if (pg_pool_take(s->with.postgres, &conn) == OK) {
		outcome = run_locked(s, i, conn, at_once, &rows);
		pg_pool_give(s->with.postgres, conn);
	}
	task_metrics_count(&s->turns[i].metrics, outcome, rows, began_at_us);
	s->turns[i].due_us = began_us + task_delay_s(&s->tasks[i], outcome) * CLOCK_US_PER_S;
	if (outcome == TASK_DONE)
		log_info(s->with.log, "task_done", LOG_TEXT("task", s->tasks[i].name), LOG_INT("rows", rows),
		         LOG_INT("took_us", clock_steady_us(s->with.clock) - began_us));
	if (outcome == TASK_SKIPPED)
		log_debug(s->with.log, "task_skipped", LOG_TEXT("task", s->tasks[i].name));
	return outcome;
}

static size_t next_task(const struct schedule *s)
{
	size_t next = 0;
	for (size_t i = 1; i < s->count; i++) {
		if (s->turns[i].due_us < s->turns[next].due_us)
			next = i;
	}
	return next;
}

void schedule_follow(struct schedule *schedule)
{
	while (!shutdown_requested(schedule->with.shutdown)) {
		size_t next = next_task(schedule);
		int64_t wait_us = schedule->turns[next].due_us - clock_steady_us(schedule->with.clock);
		if (wait_us <= 0)
			run_task(schedule, next, false);
		else
			(void)shutdown_wait_ms(schedule->with.shutdown, wait_us / CLOCK_US_PER_MS + 1);
	}
}

bool schedule_run_once(struct schedule *schedule)
{
	bool right = true;
	for (size_t i = 0; i < schedule->count && !shutdown_requested(schedule->with.shutdown); i++) {
		enum task_outcome outcome = run_task(schedule, i, true);
		right = right && (outcome == TASK_DONE || outcome == TASK_SKIPPED);
	}
	return right;
}
