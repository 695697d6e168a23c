#include "services/janitor/tasks/config.h"

#include "lib/base/array.h"
#include "lib/base/env_check.h"
#include "lib/postgres/pg_conn.h"
#include "services/janitor/destinations/global_resolver.h"

#define YEAR_S 31536000
#define DAY_S 86400

#define SECONDS(name, member, fallback, least, help)                                               \
	ENV_INT(name, struct config, member, fallback, least, YEAR_S, help)
#define TASK_SECONDS(name_, task, time, fallback_, least, help_)                                   \
	{                                                                                          \
		.name = (name_), .type = ENV_TYPE_INT, .fallback = (fallback_), .min = (least),    \
		.max = YEAR_S,                                                                     \
		.offset = offsetof(struct config, task) + offsetof(struct task_times, time),       \
		.size = sizeof(int64_t), .help = (help_)                                           \
	}
#define TASK_TIMES(name, task, period, first_delay, at_least, at_most, what)                       \
	TASK_SECONDS(name "_PERIOD_S", task, period_s, period, 1,                                  \
	             "seconds from the start of one " what " to the next"),                        \
		TASK_SECONDS(name "_FIRST_DELAY_S", task, first_delay_s, first_delay, 0,           \
	                     "seconds from program start to the first " what),                     \
		TASK_SECONDS(name "_LOCK_AT_LEAST_S", task, at_least_s, at_least, -1,              \
	                     "overrides LOCK_AT_LEAST_S for this task; -1 = no override"),         \
		TASK_SECONDS(name "_LOCK_AT_MOST_S", task, at_most_s, at_most, 0,                  \
	                     "overrides LOCK_AT_MOST_S for this task; 0 = no override")
/* For tasks that take milliseconds: another janitor can take over soon. */
#define SHORT_AT_LEAST "10"
#define SHORT_AT_MOST "60"

static const struct env_var vars[] = {
	ENV_GROUP("HTTP"),
	ENV_TEXT("OPS_ADDRESS", struct config, ops_address, "",
	         "address that OPS_PORT listens on; empty = all, IPv4 and IPv6"),
	ENV_INT("OPS_PORT", struct config, ops_port, "9090", 0, 65535,
	        "port of /livez, /readyz and /metrics"),
	ENV_GROUP("PostgreSQL"),
	ENV_SECRET("PG_URL", struct config, pg_url, NULL, 1,
	           "libpq connection string; the login needs the rights of waymark_janitor"),
	ENV_BOOL(
		"PG_POOLED", struct config, pg_pooled, "false",
		"PG_URL leads to a pooler in transaction mode: no prepared statements, no session settings"),
	ENV_INT("PG_STATEMENT_TIMEOUT_MS", struct config, pg_statement_timeout_ms, "30000", 100,
	        600000, "longest time that one statement may take"),
	ENV_GROUP("Locks"),
	SECONDS("LOCK_AT_LEAST_S", lock_at_least_s, "600", 0,
	        "how long no other janitor repeats a task; at most two thirds of its period"),
	SECONDS("LOCK_AT_MOST_S", lock_at_most_s, "840", 1,
	        "time after which a lock that is not extended expires, so that another janitor can take over"),
	SECONDS("CLOCK_SKEW_MAX_S", clock_skew_max_s, "21600", 0,
	        "partitions, salts, retention and rollups fail while this clock and PostgreSQL's differ by more; "
	        "0 = not checked"),
	ENV_GROUP("Expiry and purge of links"),
	TASK_TIMES("EXPIRY", expiry, "900", "60", "-1", "0", "run that expires and purges links"),
	ENV_INT("EXPIRY_LINKS_PER_S", struct config, expiry_links_per_s, "25000", 0, 1000000,
	        "links per second that such a run expires or purges; 0 = no limit"),
	SECONDS("EXPIRED_GRACE_S", expired_grace_s, "2592000", 0,
	        "how long a link that has ended is kept with its statistics; must exceed the longest request"),
	SECONDS("DELETED_GRACE_S", deleted_grace_s, "604800", 0,
	        "how long a deleted link can be restored"),
	ENV_GROUP("Lists"),
	TASK_TIMES("LISTS", link_lists, "5", "5", "3", SHORT_AT_MOST,
	           "update of the sort order of link lists"),
	ENV_GROUP("Partitions, salts and retention"),
	TASK_TIMES("PARTITIONS", partitions, "3600", "0", SHORT_AT_LEAST, SHORT_AT_MOST,
	           "check for missing partitions"),
	TASK_TIMES("SALTS", salts, "3600", "0", SHORT_AT_LEAST, SHORT_AT_MOST,
	           "check for missing and old salts"),
	SECONDS("SALTS_KEEP_S", salts_keep_s, "86400", 3600,
	        "how long a salt is kept after its UTC day; must exceed the skew of any two clocks"),
	TASK_TIMES("RETENTION", retention, "86400", "300", SHORT_AT_LEAST, SHORT_AT_MOST,
	           "retention run"),
	TASK_SECONDS(
		"RETENTION_AFTER_MIDNIGHT_S", retention, after_midnight_s, "10800", 0,
		"the first retention run starts at this second of a UTC day; 0 = after RETENTION_FIRST_DELAY_S"),
	ENV_INT("VISIT_LOG_KEEP_DAYS", struct config, visit_log_keep_days, "400", 8, 36500,
	        "days of the visit log to keep; must exceed Kafka's retention of clicks. Statistics are kept"),
	ENV_INT("AUDIT_LOG_KEEP_DAYS", struct config, audit_log_keep_days, "400", 0, 36500,
	        "days of the audit log to keep; 0 = forever"),
	ENV_INT("AUDIT_LOG_ENTRIES_MAX", struct config, audit_log_entries_max, "10000000", 0,
	        1000000000000, "entries of the audit log to keep, the newest; 0 = no limit"),
	ENV_GROUP("Roll-ups"),
	TASK_TIMES("ROLLUPS", rollups, "20", "10", "5", SHORT_AT_MOST,
	           "run that folds roll-ups into hours and days"),
	ENV_INT("ROLLUP_HOURS_KEEP_DAYS", struct config, rollup_hours_keep_days, "90", 8, 36500,
	        "days of roll-ups by hour to keep; roll-ups by day, and totals by quarter of an hour, are kept for ever"),
	ENV_GROUP("Checks of destinations"),
	ENV_BOOL("DESTINATION_CHECKS", struct config, destination_checks, "false",
	         "true = request the destinations of links to find dead ones"),
	TASK_TIMES("DESTINATIONS", destinations, "10", "10", SHORT_AT_LEAST, SHORT_AT_MOST,
	           "run of destination checks (at most 30 s long)"),
	ENV_INT("DESTINATION_REQUESTS_PER_S", struct config, destinations_per_s, "5", 1, 1000,
	        "requests per second to all hosts together"),
	SECONDS("DESTINATION_RECHECK_S", destination_recheck_s, "86400", 1,
	        "seconds between checks of one link"),
	SECONDS("DESTINATION_RETRY_S", destination_retry_s, "900", 1,
	        "seconds until a dead destination is checked again; doubled each time, at most 30 days"),
	ENV_TEXT(
		"DESTINATION_RESOLVERS", struct config, destination_resolvers, "",
		"DNS servers for the checks (1.1.1.1,[2606:4700::1111]:53); empty = those of /etc/resolv.conf"),
	ENV_GROUP("Logging"),
	ENV_LOG_LEVEL(struct config, log_level),
};

struct task_times config_times(const struct config *config, const struct task_times *own)
{
	struct task_times times = *own;
	if (times.at_least_s < 0)
		times.at_least_s = config->lock_at_least_s;
	if (times.at_most_s == 0)
		times.at_most_s = config->lock_at_most_s;
	return times;
}

/* A task that overrides neither time is covered by the check of LOCK_AT_LEAST_S. */
static size_t check_lock(const struct config *config, const struct task_times *own,
                         const char *name, struct strbuf *problems)
{
	struct task_times times = config_times(config, own);
	bool is_valid =
		times.at_least_s <= times.at_most_s || (own->at_least_s < 0 && own->at_most_s == 0);
	return env_expect(is_valid, name, "must not exceed the task's LOCK_AT_MOST_S", problems);
}

static size_t check(const void *ctx, struct strbuf *problems)
{
	const struct config *config = ctx;
	size_t wrong = 0;
	wrong += check_lock(config, &config->expiry, "EXPIRY_LOCK_AT_LEAST_S", problems);
	wrong += check_lock(config, &config->partitions, "PARTITIONS_LOCK_AT_LEAST_S", problems);
	wrong += check_lock(config, &config->salts, "SALTS_LOCK_AT_LEAST_S", problems);
	wrong += check_lock(config, &config->retention, "RETENTION_LOCK_AT_LEAST_S", problems);
	wrong += check_lock(config, &config->link_lists, "LISTS_LOCK_AT_LEAST_S", problems);
	wrong += check_lock(config, &config->rollups, "ROLLUPS_LOCK_AT_LEAST_S", problems);
	wrong +=
		check_lock(config, &config->destinations, "DESTINATIONS_LOCK_AT_LEAST_S", problems);
	wrong += env_expect(http_server_is_address(config->ops_address), "OPS_ADDRESS",
	                    "must be an IPv4 or IPv6 address", problems);
	wrong += pg_conn_url_check(config->pg_url, problems);
	wrong += env_expect(config->lock_at_least_s <= config->lock_at_most_s, "LOCK_AT_LEAST_S",
	                    "must not exceed LOCK_AT_MOST_S", problems);
	wrong += env_check_entries(
		config->destination_resolvers, global_resolver_server_is_valid,
		"DESTINATION_RESOLVERS",
		"is not the IP address of a DNS server, or its port is not from 1 to 65535",
		problems);
	wrong +=
		env_expect(config->retention.after_midnight_s < DAY_S, "RETENTION_AFTER_MIDNIGHT_S",
	                   "must be less than a day, 86400", problems);
	return wrong;
}

const struct program config_program = {
	.name = "janitor",
	.summary =
		"runs the maintenance tasks: link expiry and purge, partitions, salts, retention, roll-ups, "
		"destination checks; --once runs each task once and exits",
	.options = "--once",
	.vars = vars,
	.var_count = ARRAY_SIZE(vars),
	.config_size = sizeof(struct config),
	.check = check,
};
