/*
 * Safe from any thread. The time zones that PostgreSQL knows: asked for once, because looking through them takes it a
 * tenth of a second.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_STATS_ZONE_NAMES_H
#define WAYMARK_SERVICES_LINKS_API_STATS_ZONE_NAMES_H

#include "lib/base/err.h"
#include "lib/net/pg_conn.h"

struct zone_names;

struct zone_names *zone_names_new(void);
void zone_names_free(struct zone_names *names);

/* ERR_NOT_FOUND: there is no such zone. Errors of pg_conn_query pass through. */
enum err zone_names_check(struct zone_names *names, struct pg_conn *conn, const char *zone) MUST_CHECK;

#endif
