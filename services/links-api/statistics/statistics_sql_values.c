#include <stdio.h>
#include <stdlib.h>

#include "lib/base/mem.h"
#include "services/links-api/statistics/rollup_sql.h"
#include "services/links-api/statistics/rollup_values.h"
#include "services/links-api/statistics/statistics_sql.h"
#include "services/links-api/statistics/statistics_statement.h"

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

static void begin(const struct statistics_statement *statement)
{
	struct question *question = statement->ctx;
	rollup_values_free(question->values);
	question->values = rollup_values_new();
	for (size_t i = 0; i < question->named_count; i++)
		rollup_values_name(question->values, question->named[i].value);
	question->total = (struct statistics_sums){ 0 };
}

/* --- roll-ups, and visits at the edges: merged here --- */

/* Rows have sums, a value or NULL, and a list. */
static void write_rolled(struct visit_sql *sql, const struct statistics_statement *statement)
{
	const struct question *question = statement->ctx;
	const char *name = visit_dimension_name(question->dimension);
	struct statistics_pieces pieces = statistics_statement_pieces(statement);
	char column[64];
	snprintf(column, sizeof(column), "%s AS value, ", name);
	const struct rollup_sql_scope *scope = statistics_statement_begin(sql, statement->query);
	bool is_first = true;
	for (size_t i = 0; i < pieces.count; i++) {
		visit_sql_add(sql, "%s", statistics_statement_union(&is_first));
		if (pieces.of[i].source != STATISTICS_LOG) {
			rollup_sql_add_values(sql, question->dimension, scope, &pieces.of[i]);
			continue;
		}
		visit_sql_add(sql,
		              "SELECT " STATISTICS_STATEMENT_SUMS ", value, NULL::text FROM (");
		statistics_statement_add_visits(sql, column, scope, statement, pieces.of[i].span);
		visit_sql_add(sql, ") AS visits GROUP BY value");
	}
}

static enum err add_rolled(void *ctx, const struct pg_result *row)
{
	struct question *question = ctx;
	struct statistics_sums sums = statistics_statement_sums(row, 0);
	enum err err = statistics_sums_add(&question->total, &sums);
	if (err != OK)
		return err;
	if (pg_result_is_null(row, 0, 3))
		return rollup_values_add_list(question->values, &sums, pg_result_text(row, 0, 4));
	return rollup_values_add(question->values, pg_result_text(row, 0, 3), &sums);
}

/* --- visits alone: ranked by PostgreSQL, because they may have any number of values --- */

static void write_visits(struct visit_sql *sql, const struct statistics_statement *statement)
{
	struct question *question = statement->ctx;
	const char *rank = statistics_statement_rank(statement->query->filter->traffic);
	char column[64];
	snprintf(column, sizeof(column), "%s AS value, ",
	         visit_dimension_name(question->dimension));
	const struct rollup_sql_scope *scope = statistics_statement_begin(sql, statement->query);
	visit_sql_add(
		sql,
		"WITH sums AS MATERIALIZED (SELECT value COLLATE \"C\" AS value, " STATISTICS_STATEMENT_SUMS
		" FROM (");
	statistics_statement_add_visits(sql, column, scope, statement, statement->query->counted);
	visit_sql_add(
		sql,
		") AS visits GROUP BY 1) "
		"SELECT t.humans, t.bots, t.uniques, v.value, v.humans, v.bots, v.uniques FROM "
		"(SELECT " STATISTICS_STATEMENT_SUMS_OR_ZERO " FROM sums) AS t "
		"LEFT JOIN LATERAL (SELECT * FROM sums ");
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
	question->total = statistics_statement_sums(row, 0);
	struct statistics_sums sums = statistics_statement_sums(row, 4);
	return pg_result_is_null(row, 0, 3)
	               ? OK
	               : rollup_values_add(question->values, pg_result_text(row, 0, 3), &sums);
}

/* --- both --- */

static enum err count_values(struct pg_conn *conn, struct statistics_query *query,
                             struct question *question)
{
	bool needs_log =
		query->filter->count > 0 || !visit_dimension_is_rolled_up(question->dimension);
	struct statistics_statement statement = { .query = query,
		                                  .unit = STATISTICS_VALUES,
		                                  .needs_log = needs_log,
		                                  .write = needs_log ? write_visits : write_rolled,
		                                  .begin = begin,
		                                  .on_row = needs_log ? add_ranked : add_rolled,
		                                  .ctx = question };
	enum err err = statistics_statement_run(conn, &statement);
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
