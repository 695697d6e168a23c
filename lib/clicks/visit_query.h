/*
 * One thread at a time. A statement about visits while it is being written: its text is made of literals of ours and of
 * $n, whatever callers send is a parameter. Not prepared: planned for its own parameters, it reads the partitions that
 * it needs and no others.
 */
#ifndef WAYMARK_LIB_CLICKS_VISIT_QUERY_H
#define WAYMARK_LIB_CLICKS_VISIT_QUERY_H

#include <stdbool.h>

#include "lib/base/strbuf.h"
#include "lib/clicks/statistics_range.h"
#include "lib/clicks/visit_filter.h"
#include "lib/net/pg_conn.h"

struct visit_query {
	struct strbuf sql;
	struct pg_params params;
	bool reads_log;
};

/* The struct points into itself: it cannot be copied. */
void visit_query_init(struct visit_query *query);
void visit_query_clear(struct visit_query *query);

void visit_query_add(struct visit_query *query, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Each adds a parameter and gives its number: $n. Texts are borrowed until the statement has run. */
int visit_query_int(struct visit_query *query, int64_t value);
int visit_query_time(struct visit_query *query, int64_t time_us);
int visit_query_day(struct visit_query *query, int32_t day);
int visit_query_text(struct visit_query *query, const char *text);

/*
 * "FROM visit_log WHERE …": the link's visits of the span that the filter's terms let pass; not who they are. link is
 * an expression of ours, "$1::bigint" or "ANY (…)". More conditions may follow.
 */
void visit_query_add_log(struct visit_query *query, const char *link, struct statistics_span span,
                         const struct visit_filter *filter);

/* As pg_conn_query. */
enum err visit_query_run(struct visit_query *query, struct pg_conn *conn, struct pg_result **rows) MUST_CHECK;

#endif
