/*
 * The limits of the API per time: one table of their names, windows and sizes. docs/operations.md
 * has the same table for operators. Pure.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_HTTP_LIMITS_H
#define WAYMARK_SERVICES_LINKS_API_HTTP_LIMITS_H

#include "services/links-api/http/config.h"
#include "services/links-api/http/rate_limit.h"

enum limits_name {
	/* Counted by rate_limit.h. */
	LIMITS_REQUESTS,
	LIMITS_SHARE_REQUESTS,
	LIMITS_BULK_LINKS,
	LIMITS_ANONYMOUS_LINKS,
	LIMITS_ACCOUNTS,
	LIMITS_LOGIN,
	LIMITS_LOGIN_NETWORK,
	LIMITS_LOGIN_ACCOUNT,
	LIMITS_PASSWORD,
	/* Counted in PostgreSQL, in the transaction that uses them up, in steps of its own. */
	LIMITS_LINKS,
	LIMITS_IDEMPOTENCY_BYTES,
};

struct rate_limit_rule limits_rule(const struct config *config, enum limits_name name);

#endif
