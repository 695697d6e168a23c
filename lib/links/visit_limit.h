/*
 * How many visits by people a link with max_visits has left: the table link_visit_limits, which has a
 * row for each such link. Its count is the only one; no cache and no process holds visits back. So
 * never more of them than max_visits are let in, whatever is killed or lost
 * (docs/decisions/0062-visit-limits.md).
 *
 * One thread at a time per connection. Errors of pg_conn_query pass through.
 */
#ifndef WAYMARK_LIB_LINKS_VISIT_LIMIT_H
#define WAYMARK_LIB_LINKS_VISIT_LIMIT_H

#include <stdint.h>

#include "lib/postgres/pg_conn.h"

/* The link has no limit. */
#define VISIT_LIMIT_NONE INT64_C(-1)

/*
 * Makes max_visits the limit of the link; 0 removes it. Call it in the transaction that writes the
 * link's extras, after the link's row is locked. Who came before counts: a new limit starts at the
 * people in the statistics, a changed one keeps its count.
 */
enum err visit_limit_set(struct pg_conn *conn, int64_t link_id, int64_t max_visits) MUST_CHECK;

/* *left: at least 0, or VISIT_LIMIT_NONE. */
enum err visit_limit_left(struct pg_conn *conn, int64_t link_id, int64_t *left) MUST_CHECK;

/*
 * *taken: how many visits of people any limit of the link would count so far; 0 also if there is no
 * such link.
 */
enum err visit_limit_taken(struct pg_conn *conn, int64_t link_id, int64_t *taken) MUST_CHECK;

/*
 * Takes visits for people who are about to be let in, as many as are left of wanted (at least 1).
 * *granted: how many of them may go on, 0 to wanted; all of them without a limit. After an error
 * none may, and the visits may have been taken.
 */
enum err visit_limit_take(struct pg_conn *conn, int64_t link_id, int64_t wanted,
                          int64_t *granted) MUST_CHECK;

#endif
