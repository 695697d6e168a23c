#include "services/links-api/statistics/statistics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/clicks/rollup_list.h"
#include "services/links-api/statistics/visit_sql.h"

/* --- points: added up here, because SQL needs 1.2 µs to take an entry of a list apart --- */

void statistics_series_init(struct statistics_series *points, const int64_t *starts, size_t count,
                            struct statistics_sums *sums)
{
	points->starts = starts;
	points->count = count;
	points->sums = sums;
}

void statistics_series_begin(struct statistics_series *points, struct statistics_span span)
{
	for (size_t i = 0; i < points->count; i++)
		points->sums[i] = (struct statistics_sums){ 0 };
	points->span = span;
	points->day_us = -1;
}

/* The last point that begins no later; count: there is none. */
static size_t find_point(const struct statistics_series *points, int64_t time_us)
{
	size_t low = 0;
	size_t high = points->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (points->starts[middle] <= time_us)
			low = middle + 1;
		else
			high = middle;
	}
	return low == 0 ? points->count : low - 1;
}

enum err statistics_series_add(struct statistics_series *points, int64_t time_us,
                               const struct statistics_sums *sums)
{
	size_t point = find_point(points, time_us);
	return point < points->count ? statistics_sums_add(&points->sums[point], sums) : OK;
}

static void find_points_of_day(struct statistics_series *points, int64_t day_us)
{
	size_t point = find_point(points, day_us);
	size_t next = point == points->count ? 0 : point + 1;
	for (size_t i = 0; i < STATISTICS_SERIES_QUARTERS; i++) {
		int64_t time_us = day_us + (int64_t)i * STATISTICS_RANGE_QUARTER_US;
		while (next < points->count && points->starts[next] <= time_us)
			point = next++;
		bool is_counted = time_us >= points->span.from_us && time_us < points->span.to_us;
		points->point_of[i] = is_counted ? point : points->count;
	}
	points->day_us = day_us;
}

/* Reads "0" to "95". Returns STATISTICS_SERIES_QUARTERS for anything else. */
static size_t read_quarter(const struct rollup_list_entry *entry)
{
	size_t quarter = 0;
	for (size_t i = 0; i < entry->len; i++) {
		if (entry->value[i] < '0' || entry->value[i] > '9' || i == 2)
			return STATISTICS_SERIES_QUARTERS;
		quarter = quarter * 10 + (size_t)(entry->value[i] - '0');
	}
	return entry->len == 0 || quarter > STATISTICS_SERIES_QUARTERS ? STATISTICS_SERIES_QUARTERS
	                                                               : quarter;
}

enum err statistics_series_add_quarters(struct statistics_series *points, int64_t time_us,
                                        const char *list)
{
	int64_t day_us = time_us - time_us % CLOCK_US_PER_DAY;
	if (day_us != points->day_us)
		find_points_of_day(points, day_us);
	const char *rest = rollup_list_begin(list);
	struct rollup_list_entry entry;
	enum err err = OK;
	while (err == OK && (err = rollup_list_next(&rest, &entry)) == OK) {
		size_t quarter = read_quarter(&entry);
		if (quarter == STATISTICS_SERIES_QUARTERS)
			return ERR_INVALID;
		size_t point = points->point_of[quarter];
		if (point < points->count)
			err = statistics_sums_add(&points->sums[point], &entry.sums);
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

/* --- statements --- */

struct series {
	struct statistics_series points;
	/* The SQL of what rows are grouped by if there is one point, or "". */
	char one_point[32];
	/* Parameters: the days and hours that are not within one point and the range. */
	struct sql_column cut_days, cut_hours;
};

/* Adds the bucket of a time if the time cuts it. Times come in order. */
static void add_cut(struct sql_column *cuts, int64_t bucket_us, struct statistics_span span,
                    int64_t time_us, int64_t *last_us)
{
	int64_t start_us = time_us - time_us % bucket_us;
	if (start_us == time_us || start_us == *last_us || start_us + bucket_us <= span.from_us ||
	    start_us >= span.to_us)
		return;
	if (bucket_us == CLOCK_US_PER_DAY)
		sql_column_add_day(cuts, clock_utc_day(start_us));
	else
		sql_column_add_time(cuts, start_us);
	*last_us = start_us;
}

/*
 * Days and hours within one point have their totals and no list (NULL). The others have a list of
 * quarters, which the points restrict to the span.
 */
static void add_points(struct visit_sql *sql, const struct series *series,
                       const struct visit_sql_table *table, struct statistics_span span,
                       struct sql_column *cuts)
{
	int64_t last_us = -1;
	sql_column_reset(cuts);
	add_cut(cuts, table->bucket_us, span, span.from_us, &last_us);
	for (size_t i = 0; i < series->points.count; i++)
		add_cut(cuts, table->bucket_us, span, series->points.starts[i], &last_us);
	add_cut(cuts, table->bucket_us, span, span.to_us, &last_us);
	visit_sql_add(sql, "SELECT %s AS at, " VISIT_SQL_SUMS ", NULL::text",
	              series->one_point[0] != '\0' ? series->one_point : table->seconds);
	visit_sql_add_rows(sql, table, "", span);
	if (cuts->count == 0) {
		visit_sql_add(sql, " GROUP BY at");
		return;
	}
	int cut = visit_sql_column(sql, cuts);
	visit_sql_add(sql,
	              " AND %s <> ALL ($%d::%s[]) GROUP BY at UNION ALL "
	              "SELECT %s, 0::bigint, 0::bigint, 0::bigint, quarters",
	              table->key, cut, table->type, table->seconds);
	visit_sql_add_rows(sql, table, "", span);
	visit_sql_add(sql, " AND %s = ANY ($%d::%s[])", table->key, cut, table->type);
}

/* Rows have a time in seconds, the sums, and a list of quarters or NULL. */
static void write_series(struct visit_sql *sql, const struct visit_sql_statement *statement)
{
	struct series *series = statement->ctx;
	struct statistics_pieces pieces = visit_sql_pieces(statement);
	const struct visit_sql_scope *scope = visit_sql_add_scope(sql, statement->query);
	char column[96];
	snprintf(column, sizeof(column), "%s AS at, ",
	         series->one_point[0] != '\0'
	                 ? series->one_point
	                 : "(floor(extract(epoch FROM occurred_at) / 900) * 900)::bigint");
	for (size_t i = 0; i < pieces.count; i++) {
		struct statistics_span span = pieces.of[i].span;
		visit_sql_add(sql, "%s", i == 0 ? "" : " UNION ALL ");
		if (pieces.of[i].source != STATISTICS_LOG) {
			add_points(sql, series, &scope->days, span, &series->cut_days);
			visit_sql_add(sql, " UNION ALL ");
			add_points(sql, series, &scope->deltas, span, &series->cut_hours);
			continue;
		}
		visit_sql_add(sql, "SELECT at, " VISIT_SQL_SUMS ", NULL::text FROM (");
		visit_sql_add_visits(sql, column, scope, statement, span);
		visit_sql_add(sql, ") AS visits GROUP BY at");
	}
}

/* Lists also have quarters before and after their piece, of which there is one at most. */
static void begin_series(const struct visit_sql_statement *statement)
{
	struct series *series = statement->ctx;
	struct statistics_pieces pieces = visit_sql_pieces(statement);
	struct statistics_span rolled = { 0 };
	for (size_t i = 0; i < pieces.count; i++)
		if (pieces.of[i].source != STATISTICS_LOG)
			rolled = pieces.of[i].span;
	statistics_series_begin(&series->points, rolled);
}

static enum err add_point(void *ctx, const struct pg_result *row)
{
	struct series *series = ctx;
	int64_t time_us = pg_result_int(row, 0, 0) * CLOCK_US_PER_S;
	if (!pg_result_is_null(row, 0, 4))
		return statistics_series_add_quarters(&series->points, time_us,
		                                      pg_result_text(row, 0, 4));
	struct statistics_sums sums = visit_sql_sums(row, 1);
	return statistics_series_add(&series->points, time_us, &sums);
}

enum err statistics_series(struct pg_conn *conn, struct statistics_query *query,
                           const int64_t *starts, size_t count, struct statistics_sums *out)
{
	if (count == 0 || count > STATISTICS_POINTS_MAX)
		return ERR_INTERNAL;
	const size_t cuts_bytes_max = (count + 2) * sizeof(int64_t[2]) + 64;
	struct series series = { 0 };
	struct statistics_sums *sums = mem_array(count, sizeof(*sums));
	statistics_series_init(&series.points, starts, count, sums);
	if (count == 1)
		snprintf(series.one_point, sizeof(series.one_point), "%" PRId64 "::bigint",
		         starts[0] / CLOCK_US_PER_S);
	sql_column_init(&series.cut_days, SQL_COLUMN_DATE, cuts_bytes_max);
	sql_column_init(&series.cut_hours, SQL_COLUMN_TIME, cuts_bytes_max);
	struct visit_sql_statement statement = { .query = query,
		                                 .unit = STATISTICS_SERIES,
		                                 .needs_log = query->filter->count > 0,
		                                 .write = write_series,
		                                 .begin = begin_series,
		                                 .on_row = add_point,
		                                 .ctx = &series };
	enum err err = visit_sql_run_statement(conn, &statement);
	if (err == OK)
		memcpy(out, sums, count * sizeof(*sums));
	free(sums);
	sql_column_clear(&series.cut_days);
	sql_column_clear(&series.cut_hours);
	return err;
}

/* A series of one point. */
enum err statistics_series_total(struct pg_conn *conn, struct statistics_query *query,
                                 struct statistics_sums *out)
{
	int64_t from_us = query->requested.from_us;
	int64_t start_us = from_us - from_us % STATISTICS_RANGE_QUARTER_US;
	return statistics_series(conn, query, &start_us, 1, out);
}
