#include "services/links-api/health/health_json.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "services/links-api/outbox/outbox_session.h"
#include "services/links-api/statistics/stats_json.h"

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
	stats_json_add_freshness(counting,
	                         &(struct stats_json_freshness){ b->as_of_us, b->now_us });
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

struct json *health_json_new(const struct health_report *report,
                             const struct health_backlog *backlog, struct health_stores stores)
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
