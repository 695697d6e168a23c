/*
 * One thread at a time (before threads start). What the janitor reads from its environment; the table in config.c is its
 * --help.
 */
#ifndef WAYMARK_SERVICES_JANITOR_CONFIG_H
#define WAYMARK_SERVICES_JANITOR_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/log.h"
#include "lib/base/program.h"

struct config {
	int64_t ops_port;
	char pg_url[1024];
	int64_t pg_statement_timeout_ms;

	int64_t expiry_period_s;
	int64_t expiry_first_delay_s;
	int64_t expired_grace_s; /* from the mark to the purge */
	int64_t deleted_grace_s;
	int64_t partitions_period_s;
	int64_t partitions_first_delay_s;
	int64_t salts_period_s;
	int64_t salts_first_delay_s;
	int64_t salts_keep_s; /* after the end of their day */
	int64_t visitors_keep_s;

	bool destination_checks;
	int64_t destinations_period_s;
	int64_t destinations_first_delay_s;
	int64_t destinations_per_s; /* requests */
	int64_t destination_recheck_s;
	int64_t destination_retry_s;
	char destination_resolvers[256]; /* "" = those of the system */

	int64_t lock_at_least_s;
	int64_t lock_at_most_s;
	enum log_level log_level;
};

extern const struct program config_program;

#endif
