#include "services/links-api/statistics/statistics.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash_table.h"
#include "lib/base/mem.h"
#include "lib/clicks/rollup_list.h"
#include "services/links-api/statistics/visit_sql.h"

struct value {
	struct statistics_sums sums;
	UT_hash_handle hh;
	char text[];
};

struct statistics_values {
	struct value *by_text;
	/* Of all values, with a NUL each. */
	size_t text_bytes;
	/* No further value is kept. */
	bool is_named;
	/* Totals of roll-ups minus their lists. */
	struct statistics_sums unnamed;
};

static struct value *find(const struct statistics_values *values, const char *text, size_t len)
{
	struct value *value;
	HASH_FIND(hh, values->by_text, text, len, value);
	return value;
}

static struct value *find_or_insert(struct statistics_values *values, const char *text, size_t len)
{
	struct value *value = find(values, text, len);
	if (value)
		return value;
	value = mem_zero(sizeof(*value) + len + 1);
	memcpy(value->text, text, len);
	values->text_bytes += len + 1;
	HASH_ADD_KEYPTR(hh, values->by_text, value->text, len, value);
	return value;
}

static void drop(struct statistics_values *values, struct value *value)
{
	HASH_DEL(values->by_text, value);
	values->text_bytes -= value->hh.keylen + 1;
	free(value);
}

struct statistics_values *statistics_values_new(void)
{
	return mem_zero(sizeof(struct statistics_values));
}

void statistics_values_free(struct statistics_values *values)
{
	if (!values)
		return;
	while (values->by_text)
		drop(values, values->by_text);
	free(values);
}

/* --- the order of values --- */

static int64_t rank_of(const struct statistics_sums *sums, enum visit_filter_traffic traffic)
{
	switch (traffic) {
	case VISIT_FILTER_HUMANS:
		return sums->humans;
	case VISIT_FILTER_BOTS:
		return sums->bots;
	case VISIT_FILTER_ALL:
		break;
	}
	int64_t all;
	return __builtin_add_overflow(sums->humans, sums->bots, &all) ? INT64_MAX : all;
}

struct ranked {
	int64_t rank;
	struct value *value;
};

/* The most visits first, then by bytes. */
static int compare(const void *a, const void *b)
{
	const struct ranked *first = a;
	const struct ranked *second = b;
	if (first->rank != second->rank)
		return first->rank > second->rank ? -1 : 1;
	return strcmp(first->value->text, second->value->text);
}

/* The caller frees the result. */
static struct ranked *rank(const struct statistics_values *values,
                           enum visit_filter_traffic traffic)
{
	size_t count = 0;
	struct ranked *ranked = mem_array(HASH_COUNT(values->by_text), sizeof(*ranked));
	for (struct value *value = values->by_text; value; value = value->hh.next)
		ranked[count++] = (struct ranked){ rank_of(&value->sums, traffic), value };
	qsort(ranked, count, sizeof(*ranked), compare);
	return ranked;
}

/* --- adding --- */

static bool is_full(const struct statistics_values *values)
{
	return HASH_COUNT(values->by_text) >= STATISTICS_VALUES_KEPT_MAX ||
	       values->text_bytes >= STATISTICS_VALUES_TEXT_MAX;
}

/* Keeps the values with the most visits. The others become "(other)". */
static enum err shrink(struct statistics_values *values)
{
	struct ranked *ranked = rank(values, VISIT_FILTER_ALL);
	size_t count = HASH_COUNT(values->by_text);
	struct value *other = find_or_insert(values, ROLLUP_LIST_OTHER, strlen(ROLLUP_LIST_OTHER));
	size_t kept_bytes = 0;
	enum err err = OK;
	for (size_t i = 0; i < count && err == OK; i++) {
		struct value *value = ranked[i].value;
		bool is_kept = i < STATISTICS_VALUES_KEPT_MAX / 2 &&
		               kept_bytes < STATISTICS_VALUES_TEXT_MAX / 2;
		kept_bytes += value->hh.keylen + 1;
		if (is_kept || value == other)
			continue;
		err = statistics_sums_add(&other->sums, &value->sums);
		drop(values, value);
	}
	free(ranked);
	return err;
}

static enum err add_value(struct statistics_values *values, const char *text, size_t len,
                          const struct statistics_sums *sums)
{
	if (len >= VISIT_FILTER_VALUE_SIZE)
		return ERR_INVALID;
	struct value *value = find(values, text, len);
	if (!value && values->is_named)
		return OK;
	if (!value && is_full(values)) {
		enum err err = shrink(values);
		if (err != OK)
			return err;
	}
	if (!value)
		value = find_or_insert(values, text, len);
	return statistics_sums_add(&value->sums, sums);
}

void statistics_values_name(struct statistics_values *values, const char *value)
{
	values->is_named = true;
	find_or_insert(values, value, strlen(value));
}

enum err statistics_values_add_list(struct statistics_values *values,
                                    const struct statistics_sums *totals, const char *list)
{
	enum err err = statistics_sums_add(&values->unnamed, totals);
	const char *rest = rollup_list_begin(list);
	struct rollup_list_entry entry;
	while (err == OK && (err = rollup_list_next(&rest, &entry)) == OK) {
		const struct statistics_sums *sums = &entry.sums;
		err = statistics_sums_add(
			&values->unnamed,
			&(struct statistics_sums){ -sums->humans, -sums->bots, -sums->uniques });
		if (err == OK)
			err = add_value(values, entry.value, entry.len, sums);
	}
	return err == ERR_NOT_FOUND ? OK : err;
}

enum err statistics_values_add(struct statistics_values *values, const char *value,
                               const struct statistics_sums *sums)
{
	return add_value(values, value, strlen(value), sums);
}

enum err statistics_values_finish(struct statistics_values *values)
{
	return add_value(values, "", 0, &values->unnamed);
}

/* --- results --- */

struct statistics_sums statistics_values_sums(const struct statistics_values *values,
                                              const char *value)
{
	const struct value *found = find(values, value, strlen(value));
	return found ? found->sums : (struct statistics_sums){ 0 };
}

size_t statistics_values_top(const struct statistics_values *values,
                             enum visit_filter_traffic traffic, size_t limit,
                             struct statistics_values_item *items)
{
	struct ranked *ranked = rank(values, traffic);
	size_t all = HASH_COUNT(values->by_text);
	size_t count = 0;
	for (; count < all && count < limit && ranked[count].rank > 0; count++)
		items[count] = (struct statistics_values_item){ ranked[count].value->text,
			                                        ranked[count].value->sums };
	free(ranked);
	return count;
}

/* --- statements --- */

/* Either the most frequent values, at most limit, or the named ones. */
struct question {
	enum visit_dimension dimension;
	size_t limit;
	const struct statistics_value *named;
	size_t named_count;
	/* SQL_COLUMN_TEXT: the named values as a parameter. */
	struct sql_column names;

	/* Results. */
	struct statistics_values *values;
	struct statistics_sums total;
};

static void begin_values(const struct visit_sql_statement *statement)
{
	struct question *question = statement->ctx;
	statistics_values_free(question->values);
	question->values = statistics_values_new();
	for (size_t i = 0; i < question->named_count; i++)
		statistics_values_name(question->values, question->named[i].value);
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
		visit_sql_add(sql, "SELECT " VISIT_SQL_SUMS ", value, NULL::text FROM (");
		visit_sql_add_visits(sql, visits, scope, statement, pieces.of[i].span);
		visit_sql_add(sql, ") AS visits GROUP BY value");
	}
}

static enum err add_rolled(void *ctx, const struct pg_result *row)
{
	struct question *question = ctx;
	struct statistics_sums sums = visit_sql_sums(row, 0);
	enum err err = statistics_sums_add(&question->total, &sums);
	if (err != OK)
		return err;
	if (pg_result_is_null(row, 0, 3))
		return statistics_values_add_list(question->values, &sums,
		                                  pg_result_text(row, 0, 4));
	return statistics_values_add(question->values, pg_result_text(row, 0, 3), &sums);
}

/* Visits alone: ranked by PostgreSQL, because they may have any number of values. */
static void write_ranked(struct visit_sql *sql, const struct visit_sql_statement *statement)
{
	struct question *question = statement->ctx;
	const char *rank = visit_sql_rank(statement->query->filter->traffic);
	char column[64];
	snprintf(column, sizeof(column), "%s AS value, ",
	         visit_dimension_name(question->dimension));
	const struct visit_sql_scope *scope = visit_sql_add_scope(sql, statement->query);
	visit_sql_add(
		sql,
		"WITH sums AS MATERIALIZED (SELECT value COLLATE \"C\" AS value, " VISIT_SQL_SUMS
		" FROM (");
	visit_sql_add_visits(sql, column, scope, statement, statement->query->counted);
	visit_sql_add(
		sql,
		") AS visits GROUP BY 1) "
		"SELECT t.humans, t.bots, t.uniques, v.value, v.humans, v.bots, v.uniques FROM "
		"(SELECT " VISIT_SQL_SUMS_OR_ZERO
		" FROM sums) AS t LEFT JOIN LATERAL (SELECT * FROM sums ");
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
	question->total = visit_sql_sums(row, 0);
	struct statistics_sums sums = visit_sql_sums(row, 4);
	return pg_result_is_null(row, 0, 3)
	               ? OK
	               : statistics_values_add(question->values, pg_result_text(row, 0, 3), &sums);
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
	if (err == OK && statistics_values_finish(question->values) != OK)
		err = ERR_INTERNAL;
	return err;
}

enum err statistics_values(struct pg_conn *conn, struct statistics_query *query,
                           enum visit_dimension dimension, size_t limit,
                           struct statistics_value *values, size_t *count,
                           struct statistics_sums *total)
{
	struct question question = { .dimension = dimension, .limit = limit };
	enum err err = count_values(conn, query, &question);
	if (err == OK) {
		struct statistics_values_item *items = mem_array(limit, sizeof(*items));
		*count = statistics_values_top(question.values, query->filter->traffic, limit,
		                               items);
		for (size_t i = 0; i < *count; i++) {
			snprintf(values[i].value, sizeof(values[i].value), "%s", items[i].value);
			values[i].sums = items[i].sums;
		}
		*total = question.total;
		free(items);
	}
	statistics_values_free(question.values);
	return err;
}

enum err statistics_values_of(struct pg_conn *conn, struct statistics_query *query,
                              enum visit_dimension dimension, const struct statistics_value *values,
                              size_t count, struct statistics_sums *out,
                              struct statistics_sums *total)
{
	struct question question = { .dimension = dimension,
		                     .named = values,
		                     .named_count = count };
	sql_column_init(&question.names, SQL_COLUMN_TEXT,
	                STATISTICS_VALUES_MAX * (VISIT_FILTER_VALUE_SIZE + 4));
	for (size_t i = 0; i < count; i++)
		sql_column_add_text(&question.names, values[i].value);
	enum err err = count_values(conn, query, &question);
	for (size_t i = 0; err == OK && i < count; i++)
		out[i] = statistics_values_sums(question.values, values[i].value);
	if (err == OK)
		*total = question.total;
	sql_column_clear(&question.names);
	statistics_values_free(question.values);
	return err;
}
