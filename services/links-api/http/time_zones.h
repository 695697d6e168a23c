/*
 * The names of the time zones that PostgreSQL's copy of the IANA database has, read once and cached:
 * the server needs a tenth of a second for them. CET and others that SQL reads as abbreviations are
 * among them, but not those that the server's settings define as abbreviations. Safe from any thread.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_HTTP_TIME_ZONES_H
#define WAYMARK_SERVICES_LINKS_API_HTTP_TIME_ZONES_H

#include "lib/base/err.h"
#include "lib/postgres/pg_conn.h"

/* With the NUL. The longest name has 32 bytes. */
#define TIME_ZONES_NAME_SIZE 48

struct time_zones;

struct time_zones *time_zones_new(void);
/* NULL may be freed. */
void time_zones_free(struct time_zones *zones);

/* ERR_NOT_FOUND: unknown zone. Errors of pg_conn_query pass through. */
enum err time_zones_check(struct time_zones *zones, struct pg_conn *conn,
                          const char *zone) MUST_CHECK;

/* The name of a zone that was found, for AT TIME ZONE. */
const char *time_zones_in_sql(const char *name);

#endif
