/*
 * A builder of SQL statements about visits. The text consists of our literals and of $n; values
 * from callers are always parameters. Statements are not prepared: each one is planned for its own
 * parameters, so it reads only the partitions that it needs.
 *
 * One thread at a time.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_STATISTICS_VISIT_SQL_H
#define WAYMARK_SERVICES_LINKS_API_STATISTICS_VISIT_SQL_H

#include <stdbool.h>

#include "lib/base/strbuf.h"
#include "lib/postgres/pg_conn.h"
#include "lib/postgres/sql_column.h"
#include "services/links-api/statistics/statistics_range.h"
#include "services/links-api/statistics/visit_filter.h"

struct visit_sql {
	struct strbuf text;
	struct pg_params params;
	bool reads_log;
	/* The first error of building the statement. */
	enum err err;
};

/* The struct points into itself and must not be copied. */
void visit_sql_init(struct visit_sql *sql);
void visit_sql_clear(struct visit_sql *sql);

void visit_sql_add(struct visit_sql *sql, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Each adds a parameter and returns its n for $n. Texts are borrowed until the statement ran. */
int visit_sql_int(struct visit_sql *sql, int64_t value);
int visit_sql_time(struct visit_sql *sql, int64_t time_us);
int visit_sql_day(struct visit_sql *sql, int32_t day);
int visit_sql_text(struct visit_sql *sql, const char *text);
int visit_sql_column(struct visit_sql *sql, struct sql_column *column);

/*
 * Adds "FROM visit_log WHERE …": the visits in span that match the condition, "link_id = …" or the
 * like, and the terms of the filter, humans and bots alike. The caller may add conditions.
 */
void visit_sql_add_log(struct visit_sql *sql, const char *condition, struct statistics_span span,
                       const struct visit_filter *filter);

/* Errors as pg_conn_query. ERR_LIMIT also: a column is larger than its bound. */
enum err visit_sql_run(struct visit_sql *sql, struct pg_conn *conn,
                       struct pg_result **rows) MUST_CHECK;

/* The same, row by row as pg_conn_stream. */
enum err visit_sql_stream(struct visit_sql *sql, struct pg_conn *conn, pg_conn_row_fn on_row,
                          void *ctx) MUST_CHECK;

#endif
