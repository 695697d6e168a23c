/*
 * A statement of statistics_sql.h: how it is run, and the parts that several of them have.
 *
 * One thread at a time per connection.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_STATISTICS_STATISTICS_STATEMENT_H
#define WAYMARK_SERVICES_LINKS_API_STATISTICS_STATISTICS_STATEMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "services/links-api/statistics/rollup_sql.h"
#include "services/links-api/statistics/statistics_sql.h"
#include "services/links-api/statistics/visit_sql.h"

/* One visit of the log in the columns of a roll-up. */
#define STATISTICS_STATEMENT_VISIT                                                                 \
	"(NOT is_bot)::int AS humans, is_bot::int AS bots, is_unique::int AS uniques"
#define STATISTICS_STATEMENT_SUMS                                                                  \
	"sum(humans)::bigint AS humans, sum(bots)::bigint AS bots, sum(uniques)::bigint AS uniques"
#define STATISTICS_STATEMENT_SUMS_OR_ZERO                                                          \
	"coalesce(sum(humans), 0)::bigint AS humans, coalesce(sum(bots), 0)::bigint AS bots, "     \
	"coalesce(sum(uniques), 0)::bigint AS uniques"

struct statistics_statement {
	struct statistics_query *query;
	enum statistics_unit unit;
	bool needs_log;
	/* Writes the SQL that counts query->counted. The first parameter is that of the links. */
	void (*write)(struct visit_sql *sql, const struct statistics_statement *statement);
	/* Forgets all rows: the statement runs, maybe again, or nothing is left of the range. */
	void (*begin)(const struct statistics_statement *statement);
	pg_conn_row_fn on_row;
	/* Of on_row. */
	void *ctx;
};

/*
 * Runs the statement until the reach of the visit log is the same before and after it. A statement
 * that reads the log waits for a running drop of partitions and then finds fewer visits. If nothing
 * is left of the range because both ends moved down to the start of one bucket, there is no row.
 */
enum err statistics_statement_run(struct pg_conn *conn,
                                  const struct statistics_statement *statement) MUST_CHECK;

/* Adds the first parameter: the links or the account. Returns whose visits the SQL counts. */
const struct rollup_sql_scope *statistics_statement_begin(struct visit_sql *sql,
                                                          const struct statistics_query *query);

struct statistics_pieces statistics_statement_pieces(const struct statistics_statement *statement);

/* Adds a SELECT of visits, one row each. columns: leading columns with a trailing comma, or "". */
void statistics_statement_add_visits(struct visit_sql *sql, const char *columns,
                                     const struct rollup_sql_scope *scope,
                                     const struct statistics_statement *statement,
                                     struct statistics_span span);

/* Returns " UNION ALL " before all SELECTs but the first. */
const char *statistics_statement_union(bool *is_first);

/* The SQL of the visits that decide which values are listed, and in which order. */
const char *statistics_statement_rank(enum visit_filter_traffic traffic);

/* The sums in three columns of a row. */
struct statistics_sums statistics_statement_sums(const struct pg_result *row, int column);

#endif
