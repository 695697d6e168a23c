#include "services/links-api/statistics/statistics_sql.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "services/links-api/statistics/rollup_points.h"
#include "services/links-api/statistics/rollup_values.h"
#include "services/links-api/statistics/visit_sql.h"

#define SUMS                                                                                       \
	"sum(humans)::bigint AS humans, sum(bots)::bigint AS bots, sum(uniques)::bigint AS uniques"
#define SUMS_OR_ZERO                                                                               \
	"coalesce(sum(humans), 0)::bigint AS humans, coalesce(sum(bots), 0)::bigint AS bots, "     \
	"coalesce(sum(uniques), 0)::bigint AS uniques"

/* The SQL of the visits that decide which values are listed, and in which order. */
static const char *rank_of(enum visit_filter_traffic traffic)
{
	static const char *const ranks[] = {
		[VISIT_FILTER_HUMANS] = "humans",
		[VISIT_FILTER_ALL] = "humans + bots",
		[VISIT_FILTER_BOTS] = "bots",
	};
	return ranks[traffic];
}

/* The sums in three columns of a row. */
static struct statistics_sums sums_of(const struct pg_result *row, int column)
{
	return (struct statistics_sums){
		.humans = pg_result_int(row, 0, column),
		.bots = pg_result_int(row, 0, column + 1),
		.uniques = pg_result_int(row, 0, column + 2),
	};
}

/* --- series: added up here, because SQL needs 1.2 µs to take an entry of a list apart --- */

struct series {
	struct rollup_points points;
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
 * quarters, which rollup_points restricts to the span.
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
	visit_sql_add(sql, "SELECT %s AS at, " SUMS ", NULL::text",
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
		visit_sql_add(sql, "SELECT at, " SUMS ", NULL::text FROM (");
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
	rollup_points_begin(&series->points, rolled);
}

static enum err add_point(void *ctx, const struct pg_result *row)
{
	struct series *series = ctx;
	int64_t time_us = pg_result_int(row, 0, 0) * CLOCK_US_PER_S;
	if (!pg_result_is_null(row, 0, 4))
		return rollup_points_add_quarters(&series->points, time_us,
		                                  pg_result_text(row, 0, 4));
	struct statistics_sums sums = sums_of(row, 1);
	return rollup_points_add(&series->points, time_us, &sums);
}

enum err statistics_sql_series(struct pg_conn *conn, struct statistics_query *query,
                               const int64_t *starts, size_t count, struct statistics_sums *out)
{
	if (count == 0 || count > STATISTICS_SQL_POINTS_MAX)
		return ERR_INTERNAL;
	const size_t cuts_bytes_max = (count + 2) * sizeof(int64_t[2]) + 64;
	struct series series = { 0 };
	struct statistics_sums *sums = mem_array(count, sizeof(*sums));
	rollup_points_init(&series.points, starts, count, sums);
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
enum err statistics_sql_total(struct pg_conn *conn, struct statistics_query *query,
                              struct statistics_sums *out)
{
	int64_t from_us = query->requested.from_us;
	int64_t start_us = from_us - from_us % STATISTICS_RANGE_QUARTER_US;
	return statistics_sql_series(conn, query, &start_us, 1, out);
}

/* --- values of a dimension --- */

/* Either the most frequent values, at most limit, or the named ones. */
struct question {
	enum visit_dimension dimension;
	size_t limit;
	const struct statistics_value *named;
	size_t named_count;
	/* SQL_COLUMN_TEXT: the named values as a parameter. */
	struct sql_column names;

	/* Results. */
	struct rollup_values *values;
	struct statistics_sums total;
};

static void begin_values(const struct visit_sql_statement *statement)
{
	struct question *question = statement->ctx;
	rollup_values_free(question->values);
	question->values = rollup_values_new();
	for (size_t i = 0; i < question->named_count; i++)
		rollup_values_name(question->values, question->named[i].value);
	question->total = (struct statistics_sums){ 0 };
}

/*
 * Roll-ups, and visits at the edges: merged here. Rows have sums, a value or NULL, and a list or
 * NULL.
 */
static void write_rolled(struct visit_sql *sql, const struct visit_sql_statement *statement)
{
	const struct question *question = statement->ctx;
	const char *name = visit_dimension_name(question->dimension);
	struct statistics_pieces pieces = visit_sql_pieces(statement);
	const struct visit_sql_scope *scope = visit_sql_add_scope(sql, statement->query);
	char visits[64], lists[128];
	snprintf(visits, sizeof(visits), "%s AS value, ", name);
	snprintf(lists, sizeof(lists),
	         "humans::bigint, bots::bigint, uniques::bigint, NULL::text AS value, %s AS list",
	         name);
	for (size_t i = 0; i < pieces.count; i++) {
		visit_sql_add(sql, "%s", i == 0 ? "" : " UNION ALL ");
		if (pieces.of[i].source != STATISTICS_LOG) {
			visit_sql_add_piece(sql, lists, scope, &pieces.of[i]);
			continue;
		}
		visit_sql_add(sql, "SELECT " SUMS ", value, NULL::text FROM (");
		visit_sql_add_visits(sql, visits, scope, statement, pieces.of[i].span);
		visit_sql_add(sql, ") AS visits GROUP BY value");
	}
}

static enum err add_rolled(void *ctx, const struct pg_result *row)
{
	struct question *question = ctx;
	struct statistics_sums sums = sums_of(row, 0);
	enum err err = statistics_sums_add(&question->total, &sums);
	if (err != OK)
		return err;
	if (pg_result_is_null(row, 0, 3))
		return rollup_values_add_list(question->values, &sums, pg_result_text(row, 0, 4));
	return rollup_values_add(question->values, pg_result_text(row, 0, 3), &sums);
}

/* Visits alone: ranked by PostgreSQL, because they may have any number of values. */
static void write_ranked(struct visit_sql *sql, const struct visit_sql_statement *statement)
{
	struct question *question = statement->ctx;
	const char *rank = rank_of(statement->query->filter->traffic);
	char column[64];
	snprintf(column, sizeof(column), "%s AS value, ",
	         visit_dimension_name(question->dimension));
	const struct visit_sql_scope *scope = visit_sql_add_scope(sql, statement->query);
	visit_sql_add(sql, "WITH sums AS MATERIALIZED (SELECT value COLLATE \"C\" AS value, " SUMS
	                   " FROM (");
	visit_sql_add_visits(sql, column, scope, statement, statement->query->counted);
	visit_sql_add(
		sql,
		") AS visits GROUP BY 1) "
		"SELECT t.humans, t.bots, t.uniques, v.value, v.humans, v.bots, v.uniques FROM "
		"(SELECT " SUMS_OR_ZERO " FROM sums) AS t LEFT JOIN LATERAL (SELECT * FROM sums ");
	if (question->named_count > 0)
		visit_sql_add(sql, "WHERE value = ANY ($%d::text[])",
		              visit_sql_column(sql, &question->names));
	else
		visit_sql_add(sql, "WHERE %s > 0 ORDER BY %s DESC, value LIMIT $%d::bigint", rank,
		              rank, visit_sql_int(sql, (int64_t)question->limit));
	visit_sql_add(sql, ") AS v ON true");
}

/* Rows have the total, and a value with its sums. Without any value, one row has the total. */
static enum err add_ranked(void *ctx, const struct pg_result *row)
{
	struct question *question = ctx;
	question->total = sums_of(row, 0);
	struct statistics_sums sums = sums_of(row, 4);
	return pg_result_is_null(row, 0, 3)
	               ? OK
	               : rollup_values_add(question->values, pg_result_text(row, 0, 3), &sums);
}

static enum err count_values(struct pg_conn *conn, struct statistics_query *query,
                             struct question *question)
{
	bool needs_log =
		query->filter->count > 0 || !visit_dimension_is_rolled_up(question->dimension);
	struct visit_sql_statement statement = { .query = query,
		                                 .unit = STATISTICS_VALUES,
		                                 .needs_log = needs_log,
		                                 .write = needs_log ? write_ranked : write_rolled,
		                                 .begin = begin_values,
		                                 .on_row = needs_log ? add_ranked : add_rolled,
		                                 .ctx = question };
	enum err err = visit_sql_run_statement(conn, &statement);
	if (err == OK && rollup_values_finish(question->values) != OK)
		err = ERR_INTERNAL;
	return err;
}

enum err statistics_sql_values(struct pg_conn *conn, struct statistics_query *query,
                               enum visit_dimension dimension, size_t limit,
                               struct statistics_value *values, size_t *count,
                               struct statistics_sums *total)
{
	struct question question = { .dimension = dimension, .limit = limit };
	enum err err = count_values(conn, query, &question);
	if (err == OK) {
		struct rollup_values_item *items = mem_array(limit, sizeof(*items));
		*count = rollup_values_top(question.values, query->filter->traffic, limit, items);
		for (size_t i = 0; i < *count; i++) {
			snprintf(values[i].value, sizeof(values[i].value), "%s", items[i].value);
			values[i].sums = items[i].sums;
		}
		*total = question.total;
		free(items);
	}
	rollup_values_free(question.values);
	return err;
}

enum err statistics_sql_values_of(struct pg_conn *conn, struct statistics_query *query,
                                  enum visit_dimension dimension,
                                  const struct statistics_value *values, size_t count,
                                  struct statistics_sums *out, struct statistics_sums *total)
{
	struct question question = { .dimension = dimension,
		                     .named = values,
		                     .named_count = count };
	sql_column_init(&question.names, SQL_COLUMN_TEXT,
	                STATISTICS_SQL_VALUES_MAX * (VISIT_FILTER_VALUE_SIZE + 4));
	for (size_t i = 0; i < count; i++)
		sql_column_add_text(&question.names, values[i].value);
	enum err err = count_values(conn, query, &question);
	for (size_t i = 0; err == OK && i < count; i++)
		out[i] = rollup_values_of(question.values, values[i].value);
	if (err == OK)
		*total = question.total;
	sql_column_clear(&question.names);
	rollup_values_free(question.values);
	return err;
}

/* --- the most visited links --- */

struct top {
	size_t limit;
	struct statistics_top *links;
	size_t count;
};

#define COUNT(field) "split_part(entry, E'\\x1f', " field ")::bigint"
#define QUARTER "split_part(entry, E'\\x1f', 4)::integer"

/* Takes the packed lists of quarters apart (db/migrations/0007_rollups.sql). */
static void add_quarters_of(struct visit_sql *sql, const struct visit_sql_table *table,
                            struct statistics_span span)
{
	visit_sql_add(sql,
	              "SELECT link_id, %s + " QUARTER " * interval '15 minutes' AS bucket, " COUNT(
			      "1") " AS humans, " COUNT("2") " AS bots, " COUNT("3") " AS uniques",
	              table->midnight);
	visit_sql_add_rows(sql, table, ", string_to_table(quarters, E'\\x1e') AS entry", span);
}

static void add_quarters(struct visit_sql *sql, struct statistics_span span)
{
	visit_sql_add(sql, "SELECT link_id, humans, bots, uniques FROM (");
	add_quarters_of(sql, &visit_sql_owned_links.days, span);
	visit_sql_add(sql, " UNION ALL ");
	add_quarters_of(sql, &visit_sql_owned_links.deltas, span);
	int from = visit_sql_time(sql, span.from_us);
	int to = visit_sql_time(sql, span.to_us);
	visit_sql_add(
		sql, ") AS quarters WHERE bucket >= $%d::timestamptz AND bucket < $%d::timestamptz",
		from, to);
}

/* Adds everything in the range, one row per link and day, hour, quarter or visit. */
static void add_everything(struct visit_sql *sql, const struct visit_sql_statement *statement)
{
	struct statistics_pieces pieces = visit_sql_pieces(statement);
	for (size_t i = 0; i < pieces.count; i++) {
		const struct statistics_piece *piece = &pieces.of[i];
		visit_sql_add(sql, "%s", i == 0 ? "" : " UNION ALL ");
		if (piece->source == STATISTICS_LOG)
			visit_sql_add_visits(sql, "link_id, ", &visit_sql_owned_links, statement,
			                     piece->span);
		else if (piece->source == STATISTICS_QUARTERS)
			add_quarters(sql, piece->span);
		else
			visit_sql_add_piece(sql, "link_id, humans, bots, uniques",
			                    &visit_sql_owned_links, piece);
	}
}

/* Links whose last visit was before the range are skipped. */
static void write_top(struct visit_sql *sql, const struct visit_sql_statement *statement)
{
	const struct top *top = statement->ctx;
	const struct statistics_query *query = statement->query;
	const char *rank = rank_of(query->filter->traffic);
	int links = query->link_ids ? visit_sql_column(sql, query->link_ids)
	                            : visit_sql_int(sql, query->account_id);
	int from = visit_sql_time(sql, query->counted.from_us);
	visit_sql_add(
		sql,
		"WITH owned AS MATERIALIZED (SELECT id FROM links JOIN link_statistics ON link_id = id "
		"WHERE %s$%d%s AND state <> 'DELETED' AND last_visited_at >= $%d::timestamptz) "
		"SELECT links.id, links.slug, links.title, humans, bots, uniques FROM "
		"(SELECT link_id, " SUMS " FROM (",
		query->link_ids ? "id = ANY ((SELECT " : "owner_id = ", links,
		query->link_ids ? "::bigint[])::bigint[])" : "::bigint", from);
	add_everything(sql, statement);
	int limit = visit_sql_int(sql, (int64_t)top->limit);
	visit_sql_add(sql,
	              ") AS everything GROUP BY link_id) AS sums JOIN links ON links.id = link_id "
	              "WHERE %s > 0 ORDER BY %s DESC, links.id LIMIT $%d::bigint",
	              rank, rank, limit);
}

static void begin_top(const struct visit_sql_statement *statement)
{
	struct top *top = statement->ctx;
	top->count = 0;
}

static enum err add_link(void *ctx, const struct pg_result *row)
{
	struct top *top = ctx;
	if (top->count == top->limit)
		return ERR_INTERNAL;
	struct statistics_top *link = &top->links[top->count++];
	link->link_id = pg_result_int(row, 0, 0);
	snprintf(link->slug, sizeof(link->slug), "%s", pg_result_text(row, 0, 1));
	snprintf(link->title, sizeof(link->title), "%s", pg_result_text(row, 0, 2));
	link->sums = sums_of(row, 3);
	return OK;
}

enum err statistics_sql_top(struct pg_conn *conn, struct statistics_query *query, size_t limit,
                            struct statistics_top *links, size_t *count)
{
	struct top top = { .limit = limit, .links = links };
	struct visit_sql_statement statement = { .query = query,
		                                 .unit = STATISTICS_TOTALS,
		                                 .needs_log = query->filter->count > 0,
		                                 .write = write_top,
		                                 .begin = begin_top,
		                                 .on_row = add_link,
		                                 .ctx = &top };
	enum err err = visit_sql_run_statement(conn, &statement);
	if (err == OK)
		*count = top.count;
	return err;
}
