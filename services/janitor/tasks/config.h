/*
 * One thread at a time, before threads start. The janitor's settings, read from the environment.
 * The table in config.c is the source of --help.
 */
#ifndef WAYMARK_SERVICES_JANITOR_TASKS_CONFIG_H
#define WAYMARK_SERVICES_JANITOR_TASKS_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/log.h"
#include "lib/base/program.h"
#include "lib/http/http_server.h"
#include "lib/postgres/pg_conn.h"

/* When a task runs, and how long its lock lasts. */
struct task_times {
	/* From the start of a run to the start of the next. */
	int64_t period_s;
	int64_t first_delay_s;
	/* First run at this second of a UTC day, 86400 = midnight; 0 = use first_delay_s. */
	int64_t after_midnight_s;
	/* How long a complete run keeps the lock, counted from its start. */
	int64_t at_least_s;
	/* When the lock of a crashed janitor expires. */
	int64_t at_most_s;
};

struct config {
	/* "": all. */
	char ops_address[HTTP_SERVER_ADDRESS_SIZE];
	int64_t ops_port;
	char pg_url[PG_CONN_URL_SIZE];
	/* Through a pooler in transaction mode. */
	bool pg_pooled;
	int64_t pg_statement_timeout_ms;

	struct task_times expiry;
	struct task_times partitions;
	struct task_times salts;
	struct task_times retention;
	struct task_times link_lists;
	struct task_times rollups;
	struct task_times destinations;
	struct task_times mail;

	/* The limits may be ENV_UNLIMITED. */
	int64_t expiry_links_per_s;
	/* From marking a link EXPIRED to purging it: of nobody, and of a workspace. */
	int64_t expired_grace_s;
	int64_t expired_keep_days;
	int64_t deleted_grace_s;
	/* After the end of the salt's day. */
	int64_t salts_keep_s;
	int64_t visit_log_keep_days;
	int64_t audit_log_entries_max;
	int64_t audit_log_keep_days;
	int64_t rollup_hours_keep_days;
	int64_t clock_skew_max_s;

	bool destination_checks;
	/* Requests. */
	int64_t destinations_per_s;
	int64_t destination_recheck_s;
	int64_t destination_retry_s;
	/* "" = the system's resolvers. */
	char destination_resolvers[256];

	/* "" = no mail; see smtp.h. */
	char smtp_url[2048];
	/* As in links-api. */
	char mail_from[512];
	/* "" = mails have no links to it. */
	char dashboard_url[1025];

	enum log_level log_level;
};

extern const struct program config_program;

#endif
