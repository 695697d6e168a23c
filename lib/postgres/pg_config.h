/*
 * The rows of PostgreSQL settings in a service's table of variables (lib/base/env.h). The members
 * of each struct config have the names used here. pg_conn_url_check checks PG_URL.
 */
#ifndef WAYMARK_LIB_POSTGRES_PG_CONFIG_H
#define WAYMARK_LIB_POSTGRES_PG_CONFIG_H

#include "lib/base/env.h"

/* rights_: what the login needs. */
#define PG_CONFIG_VARS(config_, statement_timeout_ms_, rights_)                                    \
	ENV_SECRET("PG_URL", config_, pg_url, NULL, 1, "libpq connection string of " rights_),     \
		ENV_INT("PG_STATEMENT_TIMEOUT_MS", config_, pg_statement_timeout_ms,               \
	                statement_timeout_ms_, 100, 600000, "timeout of one statement")

#define PG_CONFIG_POOLED_VAR(config_)                                                               \
	ENV_BOOL(                                                                                   \
		"PG_POOLED", config_, pg_pooled, "false",                                           \
		"PG_URL leads to a pooler in transaction mode: no prepared statements, no session " \
		"settings")

#define PG_CONFIG_WAIT_VAR(config_)                                                                \
	ENV_INT("PG_WAIT_MS", config_, pg_wait_ms, "2000", 100, 600000,                            \
	        "how long a request waits for a free connection; a new one may take half of it")

#endif
