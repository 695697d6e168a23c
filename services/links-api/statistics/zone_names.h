/*
 * Safe from any thread. The names of the time zones that PostgreSQL supports. Read once and cached,
 * because the query takes a tenth of a second.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_STATISTICS_ZONE_NAMES_H
#define WAYMARK_SERVICES_LINKS_API_STATISTICS_ZONE_NAMES_H

#include "lib/base/err.h"
#include "lib/postgres/pg_conn.h"

struct zone_names;

struct zone_names *zone_names_new(void);
/* NULL may be freed. */
void zone_names_free(struct zone_names *names);

/* ERR_NOT_FOUND: unknown zone. Errors of pg_conn_query pass through. */
enum err zone_names_check(struct zone_names *names, struct pg_conn *conn,
                          const char *zone) MUST_CHECK;

#endif
