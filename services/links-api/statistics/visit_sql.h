/*
 * SQL statements about visits: a builder, and how those that count are run. The text consists of
 * our literals and of $n; values from callers are always parameters. Statements are not prepared:
 * each one is planned for its own parameters, so it reads only the partitions that it needs.
 *
 * One thread at a time.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_STATISTICS_VISIT_SQL_H
#define WAYMARK_SERVICES_LINKS_API_STATISTICS_VISIT_SQL_H

#include <stdbool.h>

#include "lib/base/strbuf.h"
#include "lib/postgres/pg_conn.h"
#include "lib/postgres/sql_column.h"
#include "services/links-api/statistics/statistics.h"
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

/* Adds those terms alone, each as " AND …". */
void visit_sql_add_terms(struct visit_sql *sql, const struct visit_filter *filter);

/* Errors as pg_conn_query. ERR_LIMIT also: a column is larger than its bound. */
enum err visit_sql_run(struct visit_sql *sql, struct pg_conn *conn,
                       struct pg_result **rows) MUST_CHECK;

/* --- whose visits are counted --- */

/* A table of roll-ups by day or by hour. */
struct visit_sql_table {
	const char *name;
	/* The SQL condition on its rows. */
	const char *rows;
	const char *key, *type;
	/* The SQL of a row's time in seconds since 1970, and of the midnight before it. */
	const char *seconds, *midnight;
	int64_t bucket_us;
};

struct visit_sql_scope {
	struct visit_sql_table days, hours;
	/* What is not folded yet. */
	struct visit_sql_table deltas;
	/* The SQL condition on visit_log. */
	const char *visits;
};

/*
 * Counts by link: those that the statement names as "owned". It reads all of them at once, because
 * their rows share pages, which are then read only once.
 */
extern const struct visit_sql_scope visit_sql_owned_links;

/* Adds the first parameter: the links or the account. */
const struct visit_sql_scope *visit_sql_add_scope(struct visit_sql *sql,
                                                  const struct statistics_query *query);

/* The SQL of the sums of several rows. */
#define VISIT_SQL_SUMS                                                                             \
	"sum(humans)::bigint AS humans, sum(bots)::bigint AS bots, sum(uniques)::bigint AS uniques"
#define VISIT_SQL_SUMS_OR_ZERO                                                                     \
	"coalesce(sum(humans), 0)::bigint AS humans, coalesce(sum(bots), 0)::bigint AS bots, "     \
	"coalesce(sum(uniques), 0)::bigint AS uniques"

/* The SQL of the visits that decide which values are listed, and in which order. */
const char *visit_sql_rank(enum visit_filter_traffic traffic);

/* The sums in three columns of a row. */
struct statistics_sums visit_sql_sums(const struct pg_result *row, int column);

/* --- a statement that counts --- */

struct visit_sql_statement {
	struct statistics_query *query;
	enum statistics_unit unit;
	bool needs_log;
	/* Writes the SQL that counts query->counted. */
	void (*write)(struct visit_sql *sql, const struct visit_sql_statement *statement);
	/* Forgets all rows: the statement runs, maybe again, or nothing is left of the range. */
	void (*begin)(const struct visit_sql_statement *statement);
	pg_conn_row_fn on_row;
	/* Of on_row. */
	void *ctx;
};

/*
 * Runs the statement until the reach of the visit log is the same before and after it. A statement
 * that reads the log waits for a running drop of partitions and then finds fewer visits. If nothing
 * is left of the range because both ends moved down to the start of one bucket, there is no row.
 */
enum err visit_sql_run_statement(struct pg_conn *conn,
                                 const struct visit_sql_statement *statement) MUST_CHECK;

/* What query->counted consists of. */
struct statistics_pieces visit_sql_pieces(const struct visit_sql_statement *statement);

/* Adds a SELECT of visits, one row each. columns: leading columns with a trailing comma. */
void visit_sql_add_visits(struct visit_sql *sql, const char *columns,
                          const struct visit_sql_scope *scope,
                          const struct visit_sql_statement *statement, struct statistics_span span);

/* Adds FROM and WHERE: the rows that have a part of the span. joined: what else FROM has, or "". */
void visit_sql_add_rows(struct visit_sql *sql, const struct visit_sql_table *table,
                        const char *joined, struct statistics_span span);

/* Adds SELECTs of the rows of a piece. Several may have the same key: the caller adds them up. */
void visit_sql_add_piece(struct visit_sql *sql, const char *columns,
                         const struct visit_sql_scope *scope, const struct statistics_piece *piece);

/* The time since which the visit log is complete; 0: nothing was ever dropped. */
enum err visit_sql_log_since(struct pg_conn *conn, int64_t *since_us) MUST_CHECK;

#endif
