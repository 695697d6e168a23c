/*
 * Pure. What an SQLSTATE (PostgreSQL manual, appendix A) means to our callers.
 */
#ifndef WAYMARK_LIB_NET_PG_ERROR_H
#define WAYMARK_LIB_NET_PG_ERROR_H

#include <stdbool.h>

#include "lib/base/err.h"

/* sqlstate: five characters, or NULL when the connection broke before the server could say anything. Never OK. */
enum err pg_error_of_sqlstate(const char *sqlstate) MUST_CHECK;

/* True when a connection that gave this error is of no further use, although it may still stand. */
bool pg_error_spoils_connection(const char *sqlstate);

#endif
