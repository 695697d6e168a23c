/* Which migrations a database has. */
#ifndef WAYMARK_LIB_POSTGRES_PG_SCHEMA_H
#define WAYMARK_LIB_POSTGRES_PG_SCHEMA_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/postgres/pg_conn.h"

/*
 * The highest version in schema_migrations, which tools/migrate writes. 0: the table does not
 * exist, or our role may not read it.
 */
enum err pg_schema_version(struct pg_conn *conn, int64_t *out) MUST_CHECK;

#endif
