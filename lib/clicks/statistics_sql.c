#include "lib/clicks/statistics_sql.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/timestamp.h"
#include "lib/clicks/rollup_sql.h"
#include "lib/clicks/visit_sql.h"

/*
 * How often a query is tried if the visit log loses days in the meantime, which happens once a day.
 */
#define ATTEMPTS_MAX 3

/* One visit of the log in the columns of a roll-up. */
#define ONE_VISIT "(NOT is_bot)::int AS humans, is_bot::int AS bots, is_unique::int AS uniques"
#define SUMS                                                                                       \
	"sum(humans)::bigint AS humans, sum(bots)::bigint AS bots, sum(uniques)::bigint AS uniques"
#define SUMS_OR_ZERO                                                                               \
	"coalesce(sum(humans), 0)::bigint AS humans, coalesce(sum(bots), 0)::bigint AS bots, "     \
	"coalesce(sum(uniques), 0)::bigint AS uniques"

enum err statistics_sql_log_since(struct pg_conn *conn, int64_t *since_us)
{
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(
		conn, "SELECT since::timestamp AT TIME ZONE 'UTC' FROM visit_log_reach", NULL,
		&rows);
	if (err == OK)
		*since_us = pg_result_time(rows, 0, 0);
	pg_result_free(rows);
	return err;
}

/* --- running a query --- */

/* The days of rollup_progress only move forward. A later statement finds what this one reports. */
static enum err read_reach(struct pg_conn *conn, struct statistics_query *query)
{
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(
		conn,
		"SELECT since::timestamp AT TIME ZONE 'UTC', nullif(hours_since, '-infinity')::timestamp AT TIME ZONE 'UTC', "
		"next_day::timestamp AT TIME ZONE 'UTC' FROM visit_log_reach, rollup_progress",
		NULL, &rows);
	if (err == OK)
		query->reach = (struct statistics_reach){
			.log_since_us = pg_result_time(rows, 0, 0),
			.hours_since_us = pg_result_time(rows, 0, 1),
			.finished_us = pg_result_time(rows, 0, 2),
		};
	pg_result_free(rows);
	return err;
}

/* What a statement is built from. */
struct statement {
	const struct statistics_query *query;
	const char *link; /* an SQL expression */
	enum statistics_unit unit;
	enum visit_dimension dimension;
	size_t limit;
	struct sql_column *values; /* SQL_COLUMN_TEXT: list only these; NULL: the most frequent */
	const char *starts;        /* an array literal */
	int64_t owner_id;
};

/* Totals have no dimension. Theirs is 0, the first one, which is rolled up. */
static bool needs_log(const struct statement *statement)
{
	return statement->query->filter->count > 0 ||
	       !visit_dimension_is_rolled_up(statement->dimension);
}

/*
 * The links are the first parameter. The planner would compare each element of an array with its
 * statistics, but not those of a subquery's.
 */
#define ONE_LINK "$1::bigint"
#define SOME_LINKS "ANY ((SELECT $1::bigint[])::bigint[])"

static const char *links_of(const struct statistics_query *query)
{
	return query->link_ids ? SOME_LINKS : ONE_LINK;
}

/* Adds the parameter of links_of. */
static void add_links(struct visit_sql *sql, const struct statistics_query *query)
{
	if (query->link_ids)
		visit_sql_column(sql, query->link_ids);
	else
		visit_sql_int(sql, query->link_id);
}

typedef void (*statement_writer)(struct visit_sql *sql, const struct statement *statement);

static enum err run_once(struct pg_conn *conn, statement_writer write,
                         const struct statement *statement, bool *reads_log,
                         struct pg_result **rows)
{
	struct visit_sql sql;
	visit_sql_init(&sql);
	write(&sql, statement);
	enum err err = visit_sql_run(&sql, conn, rows);
	*reads_log = sql.reads_log;
	visit_sql_clear(&sql);
	return err;
}

/*
 * Runs the statement until the reach of the visit log is the same before and after it. A statement
 * that reads the log waits for a running drop of partitions and then finds fewer visits. *rows is
 * NULL, which reads as zeros, if nothing is left of the range because both ends moved down to the
 * start of one bucket.
 */
static enum err run(struct pg_conn *conn, struct statistics_query *query, statement_writer write,
                    const struct statement *statement, struct pg_result **rows)
{
	enum err err = read_reach(conn, query);
	for (int i = 0; err == OK && i < ATTEMPTS_MAX; i++) {
		if (needs_log(statement) && query->requested.from_us < query->reach.log_since_us)
			return ERR_NOT_FOUND;
		query->counted = statistics_range_countable(query->requested, statement->unit,
		                                            &query->reach);
		*rows = NULL;
		if (statistics_range_is_empty(&query->counted))
			return OK;
		bool reads_log = false;
		struct pg_result *found = NULL;
		err = run_once(conn, write, statement, &reads_log, &found);
		int64_t since_us = query->reach.log_since_us;
		if (err == OK && reads_log)
			err = statistics_sql_log_since(conn, &since_us);
		if (err == OK && since_us == query->reach.log_since_us) {
			*rows = found;
			return OK;
		}
		pg_result_free(found);
		query->reach.log_since_us = since_us;
	}
	return err == OK ? ERR_UNAVAILABLE : err;
}

static struct statistics_sums read_sums(const struct pg_result *rows, size_t row, int column)
{
	return (struct statistics_sums){
		.humans = pg_result_int(rows, row, column),
		.bots = pg_result_int(rows, row, column + 1),
		.uniques = pg_result_int(rows, row, column + 2),
	};
}

/* --- parts of a statement; each is a SELECT --- */

/* Returns " UNION ALL " before all SELECTs but the first. */
static const char *union_all(bool *is_first)
{
	bool was_first = *is_first;
	*is_first = false;
	return was_first ? "" : " UNION ALL ";
}

/* columns: leading columns with a trailing comma, or "". */
static void add_visits(struct visit_sql *sql, const char *columns,
                       const struct statement *statement, struct statistics_span span)
{
	visit_sql_add(sql, "SELECT %s" ONE_VISIT, columns);
	visit_sql_add_log(sql, statement->link, span, statement->query->filter);
}

/*
 * Adds everything in the range, one row per day, hour, quarter or visit. bucket_columns and
 * visit_columns are leading columns with a trailing comma, or "".
 */
static void add_everything(struct visit_sql *sql, const char *bucket_columns,
                           const char *visit_columns, const struct statement *statement)
{
	const struct statistics_query *query = statement->query;
	if (query->filter->count > 0) {
		add_visits(sql, visit_columns, statement, query->counted);
		return;
	}
	struct statistics_pieces pieces =
		statistics_range_split(query->counted, statement->unit, &query->reach);
	bool is_first = true;
	for (size_t i = 0; i < pieces.count; i++) {
		const struct statistics_piece *piece = &pieces.of[i];
		visit_sql_add(sql, "%s", union_all(&is_first));
		if (piece->source == STATISTICS_LOG)
			add_visits(sql, visit_columns, statement, piece->span);
		else if (piece->source == STATISTICS_HOURS || piece->source == STATISTICS_DAYS)
			rollup_sql_add_totals(sql, bucket_columns, statement->link, piece);
		else
			rollup_sql_add_quarters(sql, bucket_columns, statement->link, piece);
	}
}

/* The visits that decide which values are listed, and in which order. */
static const char *rank_of(enum visit_filter_traffic traffic)
{
	static const char *const ranks[] = {
		[VISIT_FILTER_HUMANS] = "humans",
		[VISIT_FILTER_ALL] = "humans + bots",
		[VISIT_FILTER_BOTS] = "bots",
	};
	return ranks[traffic];
}

/* --- totals --- */

static void write_total(struct visit_sql *sql, const struct statement *statement)
{
	add_links(sql, statement->query);
	visit_sql_add(sql, "SELECT " SUMS_OR_ZERO " FROM (");
	add_everything(sql, "", "", statement);
	visit_sql_add(sql, ") AS everything");
}

enum err statistics_sql_total(struct pg_conn *conn, struct statistics_query *query,
                              struct statistics_sums *out)
{
	struct statement statement = { .query = query,
		                       .link = links_of(query),
		                       .unit = STATISTICS_TOTALS };
	struct pg_result *rows = NULL;
	enum err err = run(conn, query, write_total, &statement, &rows);
	if (err == OK)
		*out = read_sums(rows, 0, 0);
	pg_result_free(rows);
	return err;
}

/* --- series --- */

static void write_series(struct visit_sql *sql, const struct statement *statement)
{
	char bucket[64], visit[64];
	add_links(sql, statement->query);
	int starts = visit_sql_text(sql, statement->starts);
	snprintf(bucket, sizeof(bucket), "width_bucket(bucket, $%d::timestamptz[]) AS point, ",
	         starts);
	snprintf(visit, sizeof(visit), "width_bucket(occurred_at, $%d::timestamptz[]) AS point, ",
	         starts);
	visit_sql_add(sql, "SELECT point, " SUMS " FROM (");
	add_everything(sql, bucket, visit, statement);
	visit_sql_add(sql, ") AS everything GROUP BY point");
}

static void write_starts(struct strbuf *text, const int64_t *starts, size_t count)
{
	char time[TIMESTAMP_TEXT_SIZE];
	strbuf_init(text, 2 + count * TIMESTAMP_TEXT_SIZE);
	for (size_t i = 0; i < count; i++) {
		timestamp_format_us(starts[i], time);
		strbuf_add_format(text, "%c%s", i == 0 ? '{' : ',', time);
	}
	strbuf_add_char(text, '}');
}

enum err statistics_sql_series(struct pg_conn *conn, struct statistics_query *query,
                               const int64_t *starts, size_t count, struct statistics_sums *out)
{
	if (count == 0 || count > STATISTICS_SQL_POINTS_MAX)
		return ERR_INTERNAL;
	struct strbuf text;
	write_starts(&text, starts, count);
	struct statement statement = { .query = query,
		                       .link = links_of(query),
		                       .unit = STATISTICS_SERIES,
		                       .starts = text.data };
	struct pg_result *rows = NULL;
	enum err err = run(conn, query, write_series, &statement, &rows);
	for (size_t i = 0; err == OK && i < count; i++)
		out[i] = (struct statistics_sums){ 0 };
	for (size_t i = 0; err == OK && i < pg_result_count(rows); i++) {
		int64_t point = pg_result_int(rows, i, 0);
		if (point >= 1 && (size_t)point <= count)
			out[point - 1] = read_sums(rows, i, 1);
	}
	pg_result_free(rows);
	strbuf_clear(&text);
	return err;
}

/* --- values of a dimension --- */

/* Adds the table rolled, the sums of days and hours per value. Returns false if there are none. */
static bool add_rolled(struct visit_sql *sql, const struct statement *statement,
                       const struct statistics_pieces *pieces)
{
	bool is_first = true;
	for (size_t i = 0; i < pieces->count; i++) {
		if (pieces->of[i].source == STATISTICS_LOG)
			continue;
		visit_sql_add(sql, "%s",
		              is_first ? "rolled AS MATERIALIZED (SELECT value, " SUMS " FROM ("
		                       : " UNION ALL ");
		rollup_sql_add_values(sql, statement->dimension, statement->link, &pieces->of[i]);
		is_first = false;
	}
	if (!is_first)
		visit_sql_add(sql, ") AS buckets GROUP BY value), ");
	return !is_first;
}

/* Adds the visits without a value: the total minus all values in the roll-ups. */
static void add_unnamed(struct visit_sql *sql, const struct statement *statement,
                        const struct statistics_pieces *pieces)
{
	bool is_first = true;
	visit_sql_add(sql,
	              "SELECT '', t.humans - n.humans, t.bots - n.bots, t.uniques - n.uniques FROM "
	              "(SELECT " SUMS_OR_ZERO " FROM (");
	for (size_t i = 0; i < pieces->count; i++) {
		if (pieces->of[i].source == STATISTICS_LOG)
			continue;
		visit_sql_add(sql, "%s", union_all(&is_first));
		rollup_sql_add_totals(sql, "", statement->link, &pieces->of[i]);
	}
	visit_sql_add(sql, ") AS everything) AS t, (SELECT " SUMS_OR_ZERO " FROM rolled) AS n");
}

static void add_counted(struct visit_sql *sql, const struct statement *statement)
{
	const struct statistics_query *query = statement->query;
	char columns[64];
	snprintf(columns, sizeof(columns), "%s AS value, ",
	         visit_dimension_name(statement->dimension));
	if (needs_log(statement)) {
		visit_sql_add(sql, "WITH counted AS (");
		add_visits(sql, columns, statement, query->counted);
		return;
	}
	struct statistics_pieces pieces =
		statistics_range_split(query->counted, statement->unit, &query->reach);
	bool is_first = true;
	visit_sql_add(sql, "WITH ");
	bool has_rolled = add_rolled(sql, statement, &pieces);
	visit_sql_add(sql, "counted AS (");
	if (has_rolled) {
		visit_sql_add(sql, "%sSELECT * FROM rolled UNION ALL ", union_all(&is_first));
		add_unnamed(sql, statement, &pieces);
	}
	for (size_t i = 0; i < pieces.count; i++) {
		if (pieces.of[i].source != STATISTICS_LOG)
			continue;
		visit_sql_add(sql, "%s", union_all(&is_first));
		add_visits(sql, columns, statement, pieces.of[i].span);
	}
}

static void write_values(struct visit_sql *sql, const struct statement *statement)
{
	const char *rank = rank_of(statement->query->filter->traffic);
	add_links(sql, statement->query);
	add_counted(sql, statement);
	visit_sql_add(
		sql,
		"), sums AS MATERIALIZED (SELECT value COLLATE \"C\" AS value, " SUMS
		" FROM counted GROUP BY 1) "
		"SELECT t.humans, t.bots, t.uniques, v.value, v.humans, v.bots, v.uniques FROM "
		"(SELECT " SUMS_OR_ZERO " FROM sums) AS t LEFT JOIN LATERAL (SELECT * FROM sums ");
	if (statement->values)
		visit_sql_add(sql, "WHERE value = ANY ($%d::text[])",
		              visit_sql_column(sql, statement->values));
	else
		visit_sql_add(sql, "WHERE %s > 0 ORDER BY %s DESC, value LIMIT $%d::bigint", rank,
		              rank, visit_sql_int(sql, (int64_t)statement->limit));
	visit_sql_add(sql, ") AS v ON true");
}

/* Without a value to list, one row has the totals alone. */
static size_t count_values(const struct pg_result *rows)
{
	return pg_result_is_null(rows, 0, 3) ? 0 : pg_result_count(rows);
}

enum err statistics_sql_values(struct pg_conn *conn, struct statistics_query *query,
                               enum visit_dimension dimension, size_t limit,
                               struct statistics_value *values, size_t *count,
                               struct statistics_sums *total)
{
	struct statement statement = { .query = query,
		                       .link = links_of(query),
		                       .unit = STATISTICS_VALUES,
		                       .dimension = dimension,
		                       .limit = limit };
	struct pg_result *rows = NULL;
	enum err err = run(conn, query, write_values, &statement, &rows);
	if (err != OK)
		return err;
	*total = read_sums(rows, 0, 0);
	*count = count_values(rows);
	for (size_t i = 0; i < *count; i++) {
		snprintf(values[i].value, sizeof(values[i].value), "%s",
		         pg_result_text(rows, i, 3));
		values[i].sums = read_sums(rows, i, 4);
	}
	pg_result_free(rows);
	return OK;
}

static const struct statistics_value *find_value(const struct statistics_value *values,
                                                 size_t count, const char *value)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(values[i].value, value) == 0)
			return &values[i];
	return NULL;
}

enum err statistics_sql_values_of(struct pg_conn *conn, struct statistics_query *query,
                                  enum visit_dimension dimension,
                                  const struct statistics_value *values, size_t count,
                                  struct statistics_sums *out, struct statistics_sums *total)
{
	struct sql_column listed;
	sql_column_init(&listed, SQL_COLUMN_TEXT,
	                STATISTICS_SQL_VALUES_MAX * (VISIT_FILTER_VALUE_SIZE + 4));
	for (size_t i = 0; i < count; i++)
		sql_column_add_text(&listed, values[i].value);
	struct statement statement = { .query = query,
		                       .link = links_of(query),
		                       .unit = STATISTICS_VALUES,
		                       .dimension = dimension,
		                       .values = &listed };
	struct pg_result *rows = NULL;
	enum err err = run(conn, query, write_values, &statement, &rows);
	sql_column_clear(&listed);
	if (err != OK)
		return err;
	*total = read_sums(rows, 0, 0);
	for (size_t i = 0; i < count; i++)
		out[i] = (struct statistics_sums){ 0 };
	for (size_t i = 0; i < count_values(rows); i++) {
		const struct statistics_value *value =
			find_value(values, count, pg_result_text(rows, i, 3));
		if (value)
			out[value - values] = read_sums(rows, i, 4);
	}
	pg_result_free(rows);
	return OK;
}

/* --- links --- */

/* Reads all links at once, because their rows share pages, which are then read only once. */
#define ANY_OWNED_LINK "ANY (ARRAY(SELECT id FROM owned))"

/* Links whose last visit was before the range are skipped. */
static void write_top(struct visit_sql *sql, const struct statement *statement)
{
	const char *rank = rank_of(statement->query->filter->traffic);
	int owner = visit_sql_int(sql, statement->owner_id);
	int from = visit_sql_time(sql, statement->query->counted.from_us);
	visit_sql_add(
		sql,
		"WITH owned AS MATERIALIZED (SELECT id FROM links JOIN link_statistics ON link_id = id "
		"WHERE owner_id = $%d::bigint AND state <> 'DELETED' AND last_visited_at >= $%d::timestamptz) "
		"SELECT links.id, links.slug, links.title, humans, bots, uniques FROM "
		"(SELECT link_id, " SUMS " FROM (",
		owner, from);
	add_everything(sql, "link_id, ", "link_id, ", statement);
	int limit = visit_sql_int(sql, (int64_t)statement->limit);
	visit_sql_add(sql,
	              ") AS everything GROUP BY link_id) AS sums JOIN links ON links.id = link_id "
	              "WHERE %s > 0 ORDER BY %s DESC, links.id LIMIT $%d::bigint",
	              rank, rank, limit);
}

enum err statistics_sql_top(struct pg_conn *conn, struct statistics_query *query, int64_t owner_id,
                            size_t limit, struct statistics_top *links, size_t *count)
{
	struct statement statement = { .query = query,
		                       .link = ANY_OWNED_LINK,
		                       .unit = STATISTICS_TOTALS,
		                       .owner_id = owner_id,
		                       .limit = limit };
	struct pg_result *rows = NULL;
	enum err err = run(conn, query, write_top, &statement, &rows);
	if (err != OK)
		return err;
	*count = pg_result_count(rows);
	for (size_t i = 0; i < *count; i++) {
		links[i].link_id = pg_result_int(rows, i, 0);
		snprintf(links[i].slug, sizeof(links[i].slug), "%s", pg_result_text(rows, i, 1));
		snprintf(links[i].title, sizeof(links[i].title), "%s", pg_result_text(rows, i, 2));
		links[i].sums = read_sums(rows, i, 3);
	}
	pg_result_free(rows);
	return OK;
}
