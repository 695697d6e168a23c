#include "services/janitor/tasks/config.h"

#include <string.h>

#include "lib/base/array.h"
#include "lib/base/env.h"
#include "lib/fetch/global_resolver.h"
#include "lib/http/http_server.h"
#include "lib/postgres/pg_conn.h"
#include "services/janitor/mail/smtp.h"

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
#define PERIOD(name, task, fallback, what)                                                         \
	TASK_SECONDS(name "_PERIOD_S", task, period_s, fallback, 1,                                \
	             "seconds from the start of one " what " to the next")
#define FIRST_DELAY(name, task, fallback, what)                                                    \
	TASK_SECONDS(name "_FIRST_DELAY_S", task, first_delay_s, fallback, 0,                      \
	             "seconds from program start to the first " what)
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a member's name cannot have parentheses */
#define TASK_CONSTANT(task, time, value) ENV_CONSTANT_INT(struct config, task.time, value)
/* For tasks that take milliseconds: another janitor can take over soon. */
#define SHORT_AT_LEAST "10"
#define SHORT_AT_MOST "60"

static const struct env_var vars[] = {
	ENV_GROUP("HTTP"),
	HTTP_SERVER_OPS_VARS(struct config, "9090"),
	ENV_GROUP("PostgreSQL"),
	PG_CONN_VARS(struct config, "30000", "a login with the rights of waymark_janitor"),
	PG_CONN_POOLED_VAR(struct config),
	ENV_GROUP("Locks"),
	TASK_SECONDS(
		"LOCK_AT_LEAST_S", expiry, at_least_s, "600", 0,
		"how long no other janitor repeats the run that expires links; at most two thirds of its period"),
	TASK_SECONDS(
		"LOCK_AT_MOST_S", expiry, at_most_s, "840", 1,
		"time after which the lock of such a run expires if it is not extended, so that another janitor can take over"),
	ENV_LIMIT(
		"CLOCK_SKEW_MAX_S", struct config, clock_skew_max_s, "21600", 1, YEAR_S,
		"partitions, salts, retention and rollups fail while this clock and PostgreSQL's differ by more"),
	ENV_GROUP("Expiry and purge of links"),
	PERIOD("EXPIRY", expiry, "900", "run that expires and purges links"),
	FIRST_DELAY("EXPIRY", expiry, "60", "run that expires and purges links"),
	ENV_LIMIT("EXPIRY_LINKS_PER_S", struct config, expiry_links_per_s, "25000", 1, 1000000,
	          "links per second that such a run expires or purges"),
	SECONDS("EXPIRED_GRACE_S", expired_grace_s, "2592000", 0,
	        "how long a temporary link that has ended is kept with its statistics; must exceed the longest request"),
	ENV_INT("EXPIRED_KEEP_DAYS", struct config, expired_keep_days, "400", 0, 36500,
	        "days that a link of a workspace is kept with its statistics after its end"),
	SECONDS("DELETED_GRACE_S", deleted_grace_s, "604800", 0,
	        "how long a deleted link can be restored"),
	TASK_CONSTANT(link_lists, period_s, "5"),
	TASK_CONSTANT(link_lists, first_delay_s, "5"),
	TASK_CONSTANT(link_lists, at_least_s, "3"),
	TASK_CONSTANT(link_lists, at_most_s, SHORT_AT_MOST),
	ENV_GROUP("Partitions, salts and retention"),
	TASK_CONSTANT(partitions, period_s, "3600"),
	FIRST_DELAY("PARTITIONS", partitions, "0", "check for missing partitions"),
	TASK_CONSTANT(partitions, at_least_s, SHORT_AT_LEAST),
	TASK_CONSTANT(partitions, at_most_s, SHORT_AT_MOST),
	TASK_CONSTANT(salts, period_s, "3600"),
	FIRST_DELAY("SALTS", salts, "0", "check for missing and old salts"),
	TASK_CONSTANT(salts, at_least_s, SHORT_AT_LEAST),
	TASK_CONSTANT(salts, at_most_s, SHORT_AT_MOST),
	SECONDS("SALTS_KEEP_S", salts_keep_s, "86400", 3600,
	        "how long a salt is kept after its UTC day; must exceed the skew of any two clocks"),
	TASK_CONSTANT(retention, period_s, "86400"),
	TASK_CONSTANT(retention, first_delay_s, "300"),
	TASK_CONSTANT(retention, at_least_s, SHORT_AT_LEAST),
	TASK_CONSTANT(retention, at_most_s, SHORT_AT_MOST),
	TASK_SECONDS(
		"RETENTION_AFTER_MIDNIGHT_S", retention, after_midnight_s, "10800", 0,
		"the first retention run starts at this second of a UTC day; 0 = after 5 minutes"),
	ENV_INT("VISIT_LOG_KEEP_DAYS", struct config, visit_log_keep_days, "400", 8, 36500,
	        "days of the visit log to keep; must exceed Kafka's retention of clicks. Statistics are kept"),
	ENV_LIMIT("AUDIT_LOG_KEEP_DAYS", struct config, audit_log_keep_days, "400", 1, 36500,
	          "days of the audit log to keep"),
	ENV_LIMIT("AUDIT_LOG_ENTRIES_MAX", struct config, audit_log_entries_max, "10000000", 1,
	          1000000000000, "entries of the audit log to keep, the newest"),
	ENV_GROUP("Roll-ups"),
	TASK_CONSTANT(rollups, period_s, "20"),
	TASK_CONSTANT(rollups, first_delay_s, "10"),
	TASK_CONSTANT(rollups, at_least_s, "5"),
	TASK_CONSTANT(rollups, at_most_s, SHORT_AT_MOST),
	ENV_INT("ROLLUP_HOURS_KEEP_DAYS", struct config, rollup_hours_keep_days, "90", 8, 36500,
	        "days of roll-ups by hour to keep; roll-ups by day, and totals by quarter of an hour, are kept for ever"),
	ENV_GROUP("Checks of destinations"),
	ENV_BOOL("DESTINATION_CHECKS", struct config, destination_checks, "false",
	         "true = request the destinations of links to find dead ones"),
	PERIOD("DESTINATIONS", destinations, "10", "run of destination checks (at most 30 s long)"),
	FIRST_DELAY("DESTINATIONS", destinations, "10", "run of destination checks"),
	TASK_CONSTANT(destinations, at_least_s, SHORT_AT_LEAST),
	TASK_CONSTANT(destinations, at_most_s, SHORT_AT_MOST),
	ENV_INT("DESTINATION_REQUESTS_PER_S", struct config, destinations_per_s, "5", 1, 1000,
	        "requests per second to all hosts together"),
	SECONDS("DESTINATION_RECHECK_S", destination_recheck_s, "86400", 1,
	        "seconds between checks of one link"),
	SECONDS("DESTINATION_RETRY_S", destination_retry_s, "900", 1,
	        "seconds until a dead destination is checked again; doubled each time, at most 30 days"),
	ENV_TEXT(
		"DESTINATION_RESOLVERS", struct config, destination_resolvers, "",
		"DNS servers for the checks (1.1.1.1,[2606:4700::1111]:53); empty = those of /etc/resolv.conf"),
	ENV_GROUP("Mail"),
	ENV_SECRET(
		"SMTP_URL", struct config, smtp_url, "", 1,
		"the mail server: smtp+starttls://user:password@host:587, smtps://user:password@host:465, or "
		"smtp://127.0.0.1:25; ?ca_file=/path for a private authority; empty = no mail"),
	ENV_TEXT("MAIL_FROM", struct config, mail_from, "",
	         "sender of mails: Short links <links@example.com>; links-api needs it too"),
	ENV_TEXT(
		"DASHBOARD_URL", struct config, dashboard_url, "",
		"URL of the dashboard of links-api, for reports by mail; empty = they have no links to it"),
	TASK_CONSTANT(mail, period_s, "2"),
	TASK_CONSTANT(mail, first_delay_s, "2"),
	TASK_CONSTANT(mail, at_least_s, "1"),
	TASK_CONSTANT(mail, at_most_s, "120"),
	ENV_GROUP("Logging"),
	ENV_LOG_LEVEL(struct config, log_level),
};

static size_t check_mail(const struct config *config, struct strbuf *problems)
{
	struct smtp_server server;
	char name[MAIL_ADDRESS_NAME_SIZE], address[MAIL_ADDRESS_SIZE];
	const char *reason = NULL;
	size_t wrong = 0;
	if (config->smtp_url[0] == '\0')
		return env_expect(config->mail_from[0] == '\0', "SMTP_URL",
		                  "is required with MAIL_FROM", problems);
	if (smtp_server_parse(config->smtp_url, &server, &reason) == OK)
		wrong += env_check_file(server.ca_file, "SMTP_URL", problems);
	else
		wrong += env_expect(false, "SMTP_URL", reason, problems);
	wrong += env_expect(mail_address_split(config->mail_from, name, address) == OK, "MAIL_FROM",
	                    "must be an address, or a name and <address>", problems);
	if (config->dashboard_url[0] != '\0')
		wrong += env_check_http_url(config->dashboard_url, "DASHBOARD_URL", problems);
	explicit_bzero(&server, sizeof(server));
	return wrong;
}

static size_t check(const void *ctx, struct strbuf *problems)
{
	const struct config *config = ctx;
	size_t wrong = 0;
	wrong += env_expect(http_server_is_address(config->ops_address), "OPS_ADDRESS",
	                    "must be an IPv4 or IPv6 address", problems);
	wrong += pg_conn_url_check(config->pg_url, problems);
	wrong += env_expect(config->expiry.at_least_s <= config->expiry.at_most_s,
	                    "LOCK_AT_LEAST_S", "must not exceed LOCK_AT_MOST_S", problems);
	wrong += env_check_entries(
		config->destination_resolvers, global_resolver_server_is_valid,
		"DESTINATION_RESOLVERS",
		"is not the IP address of a DNS server, or its port is not from 1 to 65535",
		problems);
	wrong +=
		env_expect(config->retention.after_midnight_s < DAY_S, "RETENTION_AFTER_MIDNIGHT_S",
	                   "must be less than a day, 86400", problems);
	wrong += check_mail(config, problems);
	return wrong;
}

const struct program config_program = {
	.name = "janitor",
	.summary =
		"runs the maintenance tasks: link expiry and purge, partitions, salts, retention, roll-ups, "
		"destination checks, mail; --once runs each task once and exits",
	.options = "--once",
	.vars = vars,
	.var_count = ARRAY_SIZE(vars),
	.config_size = sizeof(struct config),
	.check = check,
};
