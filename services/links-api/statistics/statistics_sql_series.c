#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "services/links-api/statistics/rollup_points.h"
#include "services/links-api/statistics/rollup_sql.h"
#include "services/links-api/statistics/statistics_sql.h"
#include "services/links-api/statistics/statistics_statement.h"

struct series {
	struct rollup_points points;
	struct rollup_sql_cuts cuts[STATISTICS_RANGE_PIECES_MAX];
};

/* Rows have a time in seconds, the sums, and a list of quarters or NULL. */
static void write_piece(struct visit_sql *sql, const struct statistics_statement *statement,
                        const struct rollup_sql_scope *scope, const struct statistics_piece *piece,
                        struct rollup_sql_cuts *cuts)
{
	const struct series *series = statement->ctx;
	struct rollup_sql_points points = { series->points.starts, series->points.count };
	if (piece->source != STATISTICS_LOG) {
		rollup_sql_add_series(sql, scope, piece, &points, cuts);
		return;
	}
	char column[96] =
		"(floor(extract(epoch FROM occurred_at) / 900) * 900)::bigint AS quarter, ";
	if (points.count == 1)
		snprintf(column, sizeof(column), "$%d::bigint AS quarter, ",
		         visit_sql_int(sql, piece->span.from_us / CLOCK_US_PER_S));
	visit_sql_add(sql, "SELECT quarter, " STATISTICS_STATEMENT_SUMS ", NULL::text FROM (");
	statistics_statement_add_visits(sql, column, scope, statement, piece->span);
	visit_sql_add(sql, ") AS visits GROUP BY quarter");
}

static struct statistics_pieces pieces_of(const struct statistics_statement *statement)
{
	if (!statement->needs_log)
		return statistics_statement_pieces(statement);
	return (struct statistics_pieces){ .of = { { STATISTICS_LOG, statement->query->counted } },
		                           .count = 1 };
}

static void write_series(struct visit_sql *sql, const struct statistics_statement *statement)
{
	struct series *series = statement->ctx;
	struct statistics_pieces pieces = pieces_of(statement);
	const struct rollup_sql_scope *scope = statistics_statement_begin(sql, statement->query);
	bool is_first = true;
	for (size_t i = 0; i < pieces.count; i++) {
		const struct statistics_piece *piece = &pieces.of[i];
		visit_sql_add(sql, "%s", statistics_statement_union(&is_first));
		write_piece(sql, statement, scope, piece, &series->cuts[i]);
	}
}

/* Lists also have quarters before and after their piece. Only visits are before and after all. */
static void begin_series(const struct statistics_statement *statement)
{
	struct series *series = statement->ctx;
	struct statistics_pieces pieces = pieces_of(statement);
	struct statistics_span rolled = { 0 };
	for (size_t i = 0; i < pieces.count; i++) {
		const struct statistics_piece *piece = &pieces.of[i];
		if (piece->source == STATISTICS_LOG)
			continue;
		if (statistics_range_is_empty(&rolled))
			rolled.from_us = piece->span.from_us;
		rolled.to_us = piece->span.to_us;
	}
	rollup_points_begin(&series->points, rolled);
}

static enum err add_row(void *ctx, const struct pg_result *row)
{
	struct series *series = ctx;
	int64_t time_us = pg_result_int(row, 0, 0) * CLOCK_US_PER_S;
	if (!pg_result_is_null(row, 0, 4))
		return rollup_points_add_quarters(&series->points, time_us,
		                                  pg_result_text(row, 0, 4));
	struct statistics_sums sums = statistics_statement_sums(row, 1);
	return rollup_points_add(&series->points, time_us, &sums);
}

enum err statistics_sql_series(struct pg_conn *conn, struct statistics_query *query,
                               const int64_t *starts, size_t count, struct statistics_sums *out)
{
	if (count == 0 || count > STATISTICS_SQL_POINTS_MAX)
		return ERR_INTERNAL;
	struct series series;
	struct statistics_sums *sums = mem_array(count, sizeof(*sums));
	rollup_points_init(&series.points, starts, count, sums);
	for (size_t i = 0; i < STATISTICS_RANGE_PIECES_MAX; i++)
		rollup_sql_cuts_init(&series.cuts[i]);
	/* One point is a total: whole hours at the edges, and no lists of days. */
	struct statistics_statement statement = { .query = query,
		                                  .unit = count == 1 ? STATISTICS_TOTALS
		                                                     : STATISTICS_SERIES,
		                                  .needs_log = query->filter->count > 0,
		                                  .write = write_series,
		                                  .begin = begin_series,
		                                  .on_row = add_row,
		                                  .ctx = &series };
	enum err err = statistics_statement_run(conn, &statement);
	if (err == OK)
		memcpy(out, sums, count * sizeof(*sums));
	free(sums);
	for (size_t i = 0; i < STATISTICS_RANGE_PIECES_MAX; i++)
		rollup_sql_cuts_clear(&series.cuts[i]);
	return err;
}
