/*
 * One thread at a time. The schema version of a database: the highest version in schema_migrations.
 * tools/migrate writes that table and every role may read it.
 */
#ifndef WAYMARK_LIB_NET_PG_SCHEMA_H
#define WAYMARK_LIB_NET_PG_SCHEMA_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/net/pg_conn.h"

/* 0: the table does not exist, or our role may not read it. Errors as in pg_conn_query. */
enum err pg_schema_version(struct pg_conn *conn, int64_t *out) MUST_CHECK;

#endif
