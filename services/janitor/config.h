/*
 * One thread at a time (before threads start). What the janitor reads from its environment; the table in config.c is
 * its --help.
 */
#ifndef WAYMARK_SERVICES_JANITOR_CONFIG_H
#define WAYMARK_SERVICES_JANITOR_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/log.h"
#include "lib/base/program.h"

/* When a task runs, and for how long its lock stands. Row of the timetable: schedule.c. */
struct task_times {
	int64_t period_s; /* from the start of a run to the start of the next */
	int64_t first_delay_s;
	int64_t after_midnight_s; /* the first run is at this second of a UTC day, 86400 being midnight; 0 = after first_delay_s */
	int64_t at_least_s;
	int64_t at_most_s;
};

struct config {
	int64_t ops_port;
	char pg_url[1024];
	int64_t pg_pooled; /* 1: by a pooler in transaction mode */
	int64_t pg_statement_timeout_ms;

	struct task_times expiry;
	struct task_times partitions;
	struct task_times salts;
	struct task_times retention;
	struct task_times link_lists;
	struct task_times finished_days;
	struct task_times destinations;

	int64_t expiry_links_per_s; /* 0 = no limit */
	int64_t expired_grace_s;    /* from the mark to the purge */
	int64_t deleted_grace_s;
	int64_t salts_keep_s; /* after the end of their day */
	int64_t visit_log_keep_days;
	int64_t audit_log_keep_days;  /* 0 = for ever */
	int64_t day_finished_after_s; /* after its end */
	int64_t clock_difference_max_s;

	bool destination_checks;
	int64_t destinations_per_s; /* requests */
	int64_t destination_recheck_s;
	int64_t destination_retry_s;
	char destination_resolvers[256]; /* "" = those of the system */

	int64_t lock_at_least_s;
	int64_t lock_at_most_s;
	enum log_level log_level;
};

extern const struct program config_program;

/* A task's times, with LOCK_AT_LEAST_S and LOCK_AT_MOST_S where it has none of its own. */
struct task_times config_times(const struct config *config, const struct task_times *own);

#endif
