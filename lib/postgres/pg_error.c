#include "lib/postgres/pg_error.h"

#include <stddef.h>

#include "lib/base/array.h"

struct pg_error_rule {
	/* Of the SQLSTATE; the first match applies. */
	const char *prefix;
	enum err err;
	bool breaks_connection;
};

static const struct pg_error_rule rules[] = {
	{ "08", ERR_UNAVAILABLE, true }, /* connection exception */
	{ "0A000", ERR_UNAVAILABLE,
	  true }, /* "cached plan must not change result type": a new connection plans anew */
	{ "22", ERR_INVALID, false },       /* data exception */
	{ "23502", ERR_INVALID, false },    /* not-null violation */
	{ "23514", ERR_INVALID, false },    /* check violation */
	{ "23", ERR_CONFLICT, false },      /* unique, foreign key, exclusion */
	{ "25006", ERR_UNAVAILABLE, true }, /* read-only: this server is a standby now */
	{ "25P03", ERR_UNAVAILABLE, true }, /* idle in transaction for too long */
	{ "26000", ERR_UNAVAILABLE, true }, /* our prepared statement is gone */
	{ "28", ERR_UNAVAILABLE, true },    /* the password is being changed, or is wrong */
	{ "3D000", ERR_UNAVAILABLE, true }, /* the database does not exist, yet */
	{ "40", ERR_CONFLICT, false },      /* serialization failure, deadlock */
	{ "53", ERR_UNAVAILABLE, false },   /* out of disk, memory or connections */
	{ "55P03", ERR_LIMIT, false },      /* lock_timeout */
	{ "57014", ERR_LIMIT, false },      /* statement_timeout */
	{ "57", ERR_UNAVAILABLE, true },    /* shutting down, starting up, terminated */
	{ "58", ERR_UNAVAILABLE, false },   /* the server's disk */
};

static const struct pg_error_rule *pg_error_rule_of(const char *sqlstate)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		if (strncmp(sqlstate, rules[i].prefix, strlen(rules[i].prefix)) == 0)
			return &rules[i];
	}
	return NULL;
}

enum err pg_error_of_sqlstate(const char *sqlstate)
{
	if (!sqlstate)
		return ERR_UNAVAILABLE;
	const struct pg_error_rule *rule = pg_error_rule_of(sqlstate);
	return rule ? rule->err : ERR_INTERNAL;
}

bool pg_error_breaks_connection(const char *sqlstate)
{
	if (!sqlstate)
		return true;
	const struct pg_error_rule *rule = pg_error_rule_of(sqlstate);
	return rule && rule->breaks_connection;
}
