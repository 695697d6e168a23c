#include "services/janitor/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/entropy.h"
#include "lib/base/mem.h"
#include "lib/base/worker_pool.h"
#include "services/janitor/destinations.h"
#include "services/janitor/expiry.h"
#include "services/janitor/finished_days.h"
#include "services/janitor/partitions.h"
#include "services/janitor/retention.h"
#include "services/janitor/salts.h"
#include "services/janitor/task_metrics.h"

/* The timetable: one row per task. Its times are settings: config.c. */
#define TASK(name, member, run)                                                                                        \
	{                                                                                                              \
		name, "waymark-" name, "task=\"" name "\"", config_times(c, &c->member), run                           \
	}

static size_t fill_timetable(const struct config *c, struct task out[static SCHEDULE_TASKS_MAX])
{
	const struct task table[] = {
		TASK("salts", salts, salts_run),
		TASK("partitions", partitions, partitions_run),
		TASK("expiry", expiry, expiry_run),
		TASK("retention", retention, retention_run),
		TASK("finished-days", finished_days, finished_days_run),
		/* Last: it is left out when it is off. */
		TASK("destinations", destinations, destinations_run),
	};
	const size_t count = sizeof(table) / sizeof(table[0]);
	_Static_assert(sizeof(table) / sizeof(table[0]) <= SCHEDULE_TASKS_MAX, "raise SCHEDULE_TASKS_MAX");
	for (size_t i = 0; i < count; i++)
		out[i] = table[i];
	return c->destination_checks ? count : count - 1;
}

/* One thread's at a time. */
struct turn {
	struct schedule *schedule;
	const struct task *task;
	struct fenced_lock lock;
	struct task_metrics metrics;
	int64_t due_us; /* steady */
	enum task_outcome last;
};

struct schedule {
	struct schedule_config with;
	size_t count;
	struct task tasks[SCHEDULE_TASKS_MAX];
	struct turn turns[SCHEDULE_TASKS_MAX];
};

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

static void prepare_turn(struct turn *turn, struct schedule *s, const struct task *task, const char *holder)
{
	const struct clock *clock = s->with.clock;
	turn->schedule = s;
	turn->task = task;
	turn->last = TASK_DONE;
	turn->due_us = clock_steady_us(clock) + task_first_delay_us(&task->times, clock_now_us(clock));
	if (fenced_lock_init(&turn->lock, task->lock, holder) != OK)
		abort(); /* names are literals */
}

struct schedule *schedule_new(const struct schedule_config *config)
{
	struct schedule *s = mem_zero(sizeof(*s));
	struct task_metrics metrics[SCHEDULE_TASKS_MAX];
	char holder[FENCED_LOCK_HOLDER_MAX + 1];
	s->with = *config;
	name_holder(holder, sizeof(holder));
	s->count = fill_timetable(config->config, s->tasks);
	task_metrics_register(config->metrics, s->tasks, s->count, metrics);
	for (size_t i = 0; i < s->count; i++) {
		prepare_turn(&s->turns[i], s, &s->tasks[i], holder);
		s->turns[i].metrics = metrics[i];
	}
	return s;
}

void schedule_free(struct schedule *schedule)
{
	free(schedule);
}

/*
 * ERR_CONFLICT: nothing to do; *wait_ms says for how long. Who only looks holds nobody up, whereas a question for the
 * lock waits for the holder's batch, and the holder's next one for that. Who had to leave it to another comes back when
 * that one's lock ends, and finds it done or left lying; who has not takes what is free.
 */
static enum err look(const struct turn *turn, struct pg_conn *conn, int64_t *wait_ms)
{
	struct fenced_lock_state state;
	enum err err = fenced_lock_look(&turn->lock, conn, &state);
	if (err == ERR_NOT_FOUND)
		return OK;
	if (err != OK)
		return err;
	int64_t ms = task_wait_ms(&turn->task->times, &state);
	if (ms <= 0 || (state.left_ms <= 0 && turn->last != TASK_SKIPPED))
		return OK;
	*wait_ms = ms;
	return ERR_CONFLICT;
}

static enum err take(struct turn *turn, struct run *run, int64_t *wait_ms)
{
	/* Left over when the connection broke in the middle of the last run. */
	enum err err = fenced_lock_release(run->lock, run->conn, 0);
	if (err == OK)
		err = look(turn, run->conn, wait_ms);
	if (err != OK)
		return err;
	err = run_start(run);
	if (err != ERR_CONFLICT)
		return err;
	*wait_ms = 1; /* should it run out between the two questions */
	err = look(turn, run->conn, wait_ms);
	return err == OK ? ERR_CONFLICT : err;
}

static enum err work(struct turn *turn, struct run *run, int64_t *rows)
{
	metrics_set(turn->metrics.lock_held, 1);
	enum err err = turn->task->run(run, rows);
	run_end(run, err == OK && !run->interrupted);
	metrics_set(turn->metrics.lock_held, 0);
	return err;
}

static enum task_outcome run_locked(struct turn *turn, struct pg_conn *conn, bool is_kept, int64_t *rows,
                                    int64_t *wait_ms)
{
	const struct schedule_config *with = &turn->schedule->with;
	const struct task_times *times = &turn->task->times;
	struct run run = {
		.config = with->config,
		.clock = with->clock,
		.shutdown = with->shutdown,
		.log = with->log,
		.conn = conn,
		.lock = &turn->lock,
		.at_least_ms = is_kept ? task_at_least_s(times) * 1000 : 0,
		.at_most_ms = times->at_most_s * 1000,
	};
	enum err err = take(turn, &run, wait_ms);
	if (err == ERR_CONFLICT)
		return TASK_SKIPPED;
	if (err == OK)
		err = work(turn, &run, rows);
	if (err != OK)
		log_warning(with->log, "task_failed", LOG_TEXT("task", turn->task->name),
		            LOG_TEXT("error", err_name(err)), LOG_INT("rows", *rows));
	return err == OK ? TASK_DONE : TASK_FAILED;
}

/* is_kept: the lock stays for its "at least". */
static enum task_outcome run_task(struct turn *turn, bool is_kept)
{
	const struct schedule_config *with = &turn->schedule->with;
	const char *name = turn->task->name;
	int64_t began_at_us = clock_now_us(with->clock), began_us = clock_steady_us(with->clock), rows = 0, wait_ms = 0;
	struct pg_conn *conn = NULL;
	enum task_outcome outcome = TASK_AWAY;
	if (pg_pool_take(with->postgres, &conn) == OK) {
		outcome = run_locked(turn, conn, is_kept, &rows, &wait_ms);
		pg_pool_give(with->postgres, conn);
	}
	task_metrics_count(&turn->metrics, outcome, rows, began_at_us);
	turn->last = outcome;
	if (outcome == TASK_SKIPPED)
		turn->due_us = clock_steady_us(with->clock) + wait_ms * CLOCK_US_PER_MS;
	else
		turn->due_us = began_us + task_delay_ms(&turn->task->times, outcome) * CLOCK_US_PER_MS;
	if (outcome == TASK_DONE)
		log_info(with->log, "task_done", LOG_TEXT("task", name), LOG_INT("rows", rows),
		         LOG_INT("took_us", clock_steady_us(with->clock) - began_us));
	if (outcome == TASK_SKIPPED)
		log_debug(with->log, "task_skipped", LOG_TEXT("task", name), LOG_INT("wait_ms", wait_ms));
	return outcome;
}

static void follow_task(void *arg)
{
	struct turn *turn = arg;
	const struct schedule_config *with = &turn->schedule->with;
	while (!shutdown_requested(with->shutdown)) {
		int64_t wait_us = turn->due_us - clock_steady_us(with->clock);
		if (wait_us <= 0)
			run_task(turn, true);
		else
			(void)shutdown_wait_ms(with->shutdown, wait_us / CLOCK_US_PER_MS + 1);
	}
}

void schedule_follow(struct schedule *schedule)
{
	struct worker_pool *threads = worker_pool_new("task", schedule->count, schedule->count);
	for (size_t i = 0; i < schedule->count; i++) {
		if (worker_pool_submit(threads, follow_task, &schedule->turns[i]) != OK)
			abort(); /* there is a place for each */
	}
	worker_pool_free(threads);
}

bool schedule_run_once(struct schedule *schedule)
{
	bool right = true;
	for (size_t i = 0; i < schedule->count && !shutdown_requested(schedule->with.shutdown); i++) {
		enum task_outcome outcome = run_task(&schedule->turns[i], false);
		right = right && (outcome == TASK_DONE || outcome == TASK_SKIPPED);
	}
	return right;
}
