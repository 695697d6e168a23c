/*
 * One thread at a time. How often links were visited by humans on each of the last days of UTC, for a
 * small picture beside each link. Tables: rollup_day, rollup_delta. Errors of pg_conn_query.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LISTS_LINK_DAYS_H
#define WAYMARK_SERVICES_LINKS_API_LISTS_LINK_DAYS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/postgres/pg_conn.h"

#define LINK_DAYS_MAX 90

/*
 * humans has room for count * days: those of ids[0] from the oldest day to today, then of ids[1] and so
 * on. today: days since 1970-01-01. days: 1 to LINK_DAYS_MAX. Reads at most count * days rows, and what
 * is not folded yet.
 */
enum err link_days_read(struct pg_conn *conn, const int64_t *ids, size_t count, int32_t today,
                        size_t days, int64_t *humans) MUST_CHECK;

#endif
