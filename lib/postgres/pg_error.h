/* Pure. Maps an SQLSTATE (PostgreSQL manual, appendix A) to our errors. */
#ifndef WAYMARK_LIB_POSTGRES_PG_ERROR_H
#define WAYMARK_LIB_POSTGRES_PG_ERROR_H

#include <stdbool.h>

#include "lib/base/err.h"

/* sqlstate: five characters; NULL: the connection broke before the server's report. Never OK. */
enum err pg_error_of_sqlstate(const char *sqlstate) MUST_CHECK;

/* Whether the connection is useless after this error, although it may still be open. */
bool pg_error_breaks_connection(const char *sqlstate);

#endif
