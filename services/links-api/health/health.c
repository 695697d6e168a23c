#include "services/links-api/health/health.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/clicks/statistics_store.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/http/response.h"
#include "services/links-api/outbox/outbox_relay.h"
#include "services/links-api/outbox/outbox_session.h"

/* --- what PostgreSQL knows; the tables belong to other stores --- */

static enum err read_halted(struct pg_conn *conn, struct health_backlog *out)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, HEALTH_HALTED_MAX);
	enum err err = pg_conn_query(
		conn,
		"SELECT topic, partition, halted_at, left(coalesce(halt_reason, ''), 60) "
		"FROM consumer_offsets WHERE halted_at IS NOT NULL ORDER BY topic, partition LIMIT $1",
		&params, &rows);
	out->halted_count = err == OK ? pg_result_count(rows) : 0;
	for (size_t i = 0; i < out->halted_count; i++) {
		struct health_partition *halted = &out->halted[i];
		snprintf(halted->topic, sizeof(halted->topic), "%s", pg_result_text(rows, i, 0));
		halted->partition = pg_result_int(rows, i, 1);
		halted->halted_at_us = pg_result_time(rows, i, 2);
		snprintf(halted->reason, sizeof(halted->reason), "%s", pg_result_text(rows, i, 3));
	}
	pg_result_free(rows);
	return err;
}

/* Times of the table are UTC without a zone. */
static enum err read_locks(struct pg_conn *conn, struct health_backlog *out)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, HEALTH_LOCKS_MAX);
	enum err err = pg_conn_query(
		conn,
		"SELECT name, locked_by, locked_at AT TIME ZONE 'UTC', lock_until AT TIME ZONE 'UTC' "
		"FROM shedlock WHERE name LIKE 'waymark%' ORDER BY name LIMIT $1",
		&params, &rows);
	out->lock_count = err == OK ? pg_result_count(rows) : 0;
	for (size_t i = 0; i < out->lock_count; i++) {
		struct health_lock *lock = &out->locks[i];
		snprintf(lock->name, sizeof(lock->name), "%s", pg_result_text(rows, i, 0));
		snprintf(lock->holder, sizeof(lock->holder), "%s", pg_result_text(rows, i, 1));
		lock->locked_at_us = pg_result_time(rows, i, 2);
		lock->locked_until_us = pg_result_time(rows, i, 3);
	}
	pg_result_free(rows);
	return err;
}

static int64_t time_or_zero(const struct pg_result *rows, int column)
{
	return pg_result_is_null(rows, 0, column) ? 0 : pg_result_time(rows, 0, column);
}

/* Every count has a bound, and every minimum an index or the rows of such a count. */
static enum err read_backlog(struct pg_conn *conn, struct health_backlog *out)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, HEALTH_COUNTED_MAX);
	pg_params_int(&params, HEALTH_MAIL_LATE_S);
	enum err err = pg_conn_query(
		conn,
		"SELECT clock_timestamp(), (SELECT count(*) FROM consumer_offsets), "
		"deltas.n, deltas.oldest, "
		"(SELECT count(*) FROM (SELECT FROM links WHERE state = 'ACTIVE' "
		"AND expires_at < clock_timestamp() LIMIT $1) AS expired), "
		"(SELECT count(*) FROM (SELECT FROM links WHERE state IN ('EXPIRED', 'DELETED') "
		"LIMIT $1) AS ended), "
		"least((SELECT min(state_since) FROM links WHERE state = 'EXPIRED'), "
		"(SELECT min(state_since) FROM links WHERE state = 'DELETED')), "
		"(SELECT max(version) FROM schema_migrations), "
		"EXISTS (SELECT FROM mail_outbox WHERE state = 'waiting' "
		"AND created_at < clock_timestamp() - $2::bigint * interval '1 second') "
		"FROM (SELECT count(*) AS n, min(hour) AS oldest "
		"FROM (SELECT hour FROM rollup_delta LIMIT $1) AS first) AS deltas",
		&params, &rows);
	if (err == OK) {
		out->now_us = pg_result_time(rows, 0, 0);
		out->partitions = pg_result_int(rows, 0, 1);
		out->deltas = pg_result_int(rows, 0, 2);
		out->oldest_delta_hour_us = time_or_zero(rows, 3);
		out->overdue_expiries = pg_result_int(rows, 0, 4);
		out->to_purge = pg_result_int(rows, 0, 5);
		out->oldest_to_purge_us = time_or_zero(rows, 6);
		out->schema_version = pg_result_int(rows, 0, 7);
		out->is_mail_late = pg_result_bool(rows, 0, 8);
	}
	pg_result_free(rows);
	return err;
}

static enum err read_all(struct pg_conn *conn, struct health_backlog *out)
{
	enum err err = statistics_store_as_of(conn, &out->as_of_us);
	if (err == OK)
		err = read_backlog(conn, out);
	if (err == OK)
		err = outbox_lag(conn, &out->outbox);
	if (err == OK)
		err = read_halted(conn, out);
	return err == OK ? read_locks(conn, out) : err;
}

/* --- the response --- */

/* The same as in deploy/prometheus/alerts.yml, where an alert has the same name. */
#define OUTBOX_STALE_US (10 * CLOCK_US_PER_S)
#define COUNTING_LAGGING_US (60 * CLOCK_US_PER_S)
#define SUBJECT_SIZE 320

static const char *const statuses[] = {
	[HEALTH_READY] = "ready",     [HEALTH_DEGRADED] = "degraded",
	[HEALTH_UNREADY] = "unready", [HEALTH_UNREACHABLE] = "unreachable",
	[HEALTH_INVALID] = "invalid",
};
static const char *const reasons[] = {
	[HEALTH_REASON_NO_ADDRESS] = "no_address",
	[HEALTH_REASON_NO_CONNECTION] = "no_connection",
	[HEALTH_REASON_TIMEOUT] = "timeout",
	[HEALTH_REASON_NO_RESPONSE] = "no_response",
};

/*
 * Longest time since a task of the janitor began, with the default periods. destinations is
 * missing, because it may be off.
 */
static const struct {
	const char *lock;
	int64_t late_us;
} tasks[] = {
	{ "waymark-expiry", CLOCK_US_PER_HOUR },
	{ "waymark-lists", CLOCK_US_PER_HOUR },
	{ "waymark-partitions", 3 * CLOCK_US_PER_HOUR },
	{ "waymark-retention", 49 * CLOCK_US_PER_HOUR },
	{ "waymark-rollups", CLOCK_US_PER_HOUR },
	{ "waymark-salts", 3 * CLOCK_US_PER_HOUR },
};

static void set_count_or_null(struct json *object, const char *name, int64_t count)
{
	if (count >= 0)
		json_set_int(object, name, count);
	else
		json_set_null(object, name);
}

/* --- parts --- */

static struct json *service_json(const struct health_process *process)
{
	struct json *failing = json_new_array();
	for (size_t i = 0; i < process->failing_count; i++)
		json_append_text(failing, process->failing[i]);
	struct json *service = json_new_object();
	json_set_text(service, "name", process->name);
	json_set_text(service, "address", process->address);
	json_set_text(service, "status", statuses[process->status]);
	if (process->reason)
		json_set_text(service, "reason", reasons[process->reason]);
	else
		json_set_null(service, "reason");
	json_set(service, "failing", failing);
	set_count_or_null(service, "events_queued", process->events_queued);
	set_count_or_null(service, "events_dropped", process->events_dropped);
	return service;
}

static struct json *services_json(const struct health_report *report)
{
	struct json *services = json_new_array();
	for (size_t i = 0; i < report->count; i++)
		json_append(services, service_json(&report->processes[i]));
	return services;
}

static struct json *counting_json(const struct health_backlog *b)
{
	struct json *halted = json_new_array();
	for (size_t i = 0; i < b->halted_count; i++) {
		const struct health_partition *each = &b->halted[i];
		struct json *item = json_new_object();
		json_set_text(item, "topic", each->topic);
		json_set_int(item, "partition", each->partition);
		json_set_time(item, "halted_at", each->halted_at_us);
		json_set_text(item, "reason", each->reason);
		json_append(halted, item);
	}
	struct json *counting = json_new_object();
	response_add_freshness(counting, b->as_of_us, b->now_us);
	json_set_int(counting, "partitions", b->partitions);
	json_set(counting, "halted", halted);
	return counting;
}

static struct json *outbox_json(const struct outbox_lag *lag)
{
	struct json *outbox = json_new_object();
	json_set_int(outbox, "waiting", lag->unpublished);
	json_set_int(outbox, "oldest_ms", lag->oldest_us / CLOCK_US_PER_MS);
	json_set_int(outbox, "uncached", lag->uncached);
	json_set_int(outbox, "low_priority", lag->low_priority);
	return outbox;
}

static struct json *rollups_json(const struct health_backlog *b)
{
	struct json *rollups = json_new_object();
	json_set_int(rollups, "deltas", b->deltas);
	json_set_time(rollups, "oldest_hour", b->oldest_delta_hour_us);
	return rollups;
}

static struct json *purge_json(const struct health_backlog *b)
{
	struct json *purge = json_new_object();
	json_set_int(purge, "overdue_expiries", b->overdue_expiries);
	json_set_int(purge, "waiting", b->to_purge);
	json_set_time(purge, "oldest_at", b->oldest_to_purge_us);
	return purge;
}

static struct json *locks_json(const struct health_backlog *b)
{
	struct json *locks = json_new_array();
	for (size_t i = 0; i < b->lock_count; i++) {
		const struct health_lock *lock = &b->locks[i];
		struct json *item = json_new_object();
		json_set_text(item, "name", lock->name);
		json_set_text(item, "holder", lock->holder);
		json_set_time(item, "locked_at", lock->locked_at_us);
		json_set_time(item, "locked_until", lock->locked_until_us);
		json_append(locks, item);
	}
	return locks;
}

/* --- problems --- */

static void add_problem(struct json *problems, const char *kind, const char *subject)
{
	struct json *problem = json_new_object();
	json_set_text(problem, "kind", kind);
	json_set_text(problem, "subject", subject);
	json_append(problems, problem);
}

static void judge_processes(const struct health_report *report, struct json *problems)
{
	static const char *const kinds[] = {
		[HEALTH_DEGRADED] = "WaymarkDegraded",
		[HEALTH_UNREADY] = "WaymarkNotReady",
		[HEALTH_UNREACHABLE] = "WaymarkTargetDown",
		[HEALTH_INVALID] = "WaymarkTargetDown",
	};
	for (size_t i = 0; i < report->count; i++) {
		const struct health_process *process = &report->processes[i];
		char subject[SUBJECT_SIZE];
		snprintf(subject, sizeof(subject), "%s %s", process->name, process->address);
		if (process->reason == HEALTH_REASON_NO_ADDRESS)
			add_problem(problems, "WaymarkServiceMissing", process->name);
		else if (process->status != HEALTH_READY)
			add_problem(problems, kinds[process->status], subject);
		if (process->events_dropped > 0)
			add_problem(problems, "WaymarkEventsDropped", subject);
	}
}

static void judge_counting(const struct health_backlog *b, struct json *problems)
{
	for (size_t i = 0; i < b->halted_count; i++) {
		char subject[SUBJECT_SIZE];
		snprintf(subject, sizeof(subject), "%s/%lld", b->halted[i].topic,
		         (long long)b->halted[i].partition);
		add_problem(problems, "WaymarkPartitionsHalted", subject);
	}
	if (b->as_of_us == 0)
		add_problem(problems, "WaymarkCountingStalled", "as_of");
	else if (b->now_us - b->as_of_us > COUNTING_LAGGING_US)
		add_problem(problems, "WaymarkCountingLagging", "as_of");
}

static const struct health_lock *find_lock(const struct health_backlog *b, const char *name)
{
	for (size_t i = 0; i < b->lock_count; i++)
		if (strcmp(b->locks[i].name, name) == 0)
			return &b->locks[i];
	return NULL;
}

static void judge_outbox(const struct health_backlog *b, struct json *problems)
{
	const struct health_lock *relay = find_lock(b, OUTBOX_SESSION_LOCK);
	if (b->outbox.oldest_us > OUTBOX_STALE_US)
		add_problem(problems, "WaymarkOutboxStale", "outbox");
	if (!relay || relay->locked_until_us < b->now_us)
		add_problem(problems, "WaymarkOutboxRelayMissing", OUTBOX_SESSION_LOCK);
}

/* A task without a lock has never run: that is a problem only if none has. */
static void judge_janitor(const struct health_backlog *b, struct json *problems)
{
	size_t known = 0;
	for (size_t i = 0; i < ARRAY_SIZE(tasks); i++) {
		const struct health_lock *lock = find_lock(b, tasks[i].lock);
		known += lock != NULL;
		if (lock && b->now_us - lock->locked_at_us > tasks[i].late_us)
			add_problem(problems, "WaymarkJanitorTaskLate", tasks[i].lock);
	}
	if (known == 0)
		add_problem(problems, "WaymarkJanitorTaskLate", "janitor");
}

struct json *health_json(const struct health_report *report, const struct health_backlog *backlog,
                         struct health_stores stores)
{
	struct json *schema = json_new_object();
	json_set_int(schema, "version", backlog->schema_version);
	json_set_int(schema, "required", WAYMARK_SCHEMA_VERSION);
	struct json *problems = json_new_array();
	judge_processes(report, problems);
	if (!stores.redis_is_reachable)
		add_problem(problems, "WaymarkRedisUnreachable", "links-api");
	if (!stores.kafka_is_reachable)
		add_problem(problems, "WaymarkKafkaUnreachable", "links-api");
	judge_counting(backlog, problems);
	judge_outbox(backlog, problems);
	judge_janitor(backlog, problems);
	if (backlog->is_mail_late)
		add_problem(problems, "WaymarkMailFailing", "mail_outbox");
	struct json *answer = json_new_object();
	json_set_time(answer, "checked_at", report->checked_at_us);
	json_set(answer, "services", services_json(report));
	json_set(answer, "counting", counting_json(backlog));
	json_set(answer, "outbox", outbox_json(&backlog->outbox));
	json_set(answer, "rollups", rollups_json(backlog));
	json_set(answer, "purge", purge_json(backlog));
	json_set(answer, "locks", locks_json(backlog));
	json_set(answer, "schema", schema);
	json_set(answer, "problems", problems);
	return answer;
}

/* --- the request --- */

#define SELF "links-api"

/* Returns the connection before the probe, which may take two seconds. */
static enum err load(const struct request *r, struct health_backlog *backlog)
{
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(request_pg(r), &conn);
	if (err == OK)
		err = read_all(conn, backlog);
	pg_pool_release(request_pg(r), conn);
	return err;
}

/* The process that answers, unless HEALTH_URLS has all processes of this service. */
static void add_self(const struct request *r, struct health_report *report)
{
	for (size_t i = 0; i < report->count; i++)
		if (strcmp(report->processes[i].name, SELF) == 0)
			return;
	if (report->count == HEALTH_PROBE_PROCESSES_MAX)
		return;
	struct health_process *self = &report->processes[report->count++];
	*self = (struct health_process){
		.name = SELF, .status = HEALTH_READY, .events_queued = -1, .events_dropped = -1
	};
	if (!pg_pool_is_reachable(r->api->pg)) {
		self->status = HEALTH_UNREADY;
		snprintf(self->failing[self->failing_count++], HEALTH_PROBE_CHECK_SIZE, "postgres");
	}
}

enum http_progress health_get(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct health_backlog *backlog = mem_zero(sizeof(*backlog));
	struct health_report *report = mem_zero(sizeof(*report));
	enum err err = load(r, backlog);
	if (err == OK) {
		health_probe_read(r->api->health, report);
		add_self(r, report);
	}
	struct health_stores stores = {
		.redis_is_reachable = redis_pool_is_reachable(r->api->redis),
		.kafka_is_reachable = outbox_relay_reaches_kafka(r->api->relay),
	};
	enum http_progress progress =
		err == OK ? response_json(r, 200, health_json(report, backlog, stores))
			  : response_failure(r, err);
	free(report);
	free(backlog);
	return progress;
}
