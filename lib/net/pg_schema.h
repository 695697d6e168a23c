/*
 * One thread at a time. Which migration a database has come to: the highest version in its table schema_migrations, which
 * tools/migrate writes and everybody may read.
 */
#ifndef WAYMARK_LIB_NET_PG_SCHEMA_H
#define WAYMARK_LIB_NET_PG_SCHEMA_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/net/pg_conn.h"

/* 0: there is no such table, or none that we may read. Errors as of pg_conn_query. */
enum err pg_schema_version(struct pg_conn *conn, int64_t *out) MUST_CHECK;

#endif
