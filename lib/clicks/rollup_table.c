#include "lib/clicks/rollup_table.h"

#include <assert.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/clicks/rollup_list.h"
#include "lib/postgres/sql_column.h"

/* Of a column in one statement. The caller bounds the work, and this only its mistakes. */
#define COLUMN_BYTES_MAX ((size_t)256 * 1024 * 1024)
#define LIST_BYTES_MAX ((size_t)4 * 1024 * 1024)

/*
 * One writer at a time, until its transaction ends: a row that does not exist yet cannot be locked.
 * The statement reads nothing, so the next one sees what the writer before has committed. The key
 * spells "rollups".
 */
#define LOCK_SQL "SELECT pg_advisory_xact_lock(32210658811801715)"

/*
 * LIMIT keeps the planner from joining, because it could read the whole table. The statement is
 * planned each time: a plan that was made while the table was empty would read all of it, too.
 */
#define READ_SQL(table, id, key, type)                                                                  \
	"SELECT wanted.n, row.* FROM unnest($1::bigint[], $2::" type                                    \
	"[]) WITH ORDINALITY AS wanted (id, start, n) CROSS JOIN LATERAL (SELECT " ROLLUP_TABLE_COLUMNS \
	" FROM " table " WHERE " id " = wanted.id AND " key                                             \
	" = wanted.start LIMIT 1 FOR NO KEY UPDATE) AS row"
#define EXCLUDED(NAME, name) ", EXCLUDED." #name
#define WRITE_SQL(table, id, key, type)                                                            \
	"INSERT INTO " table " (" id ", " key                                                      \
	", entries, humans, bots, uniques, " ROLLUP_TABLE_COLUMNS                                  \
	") SELECT * FROM unnest($1::bigint[], $2::" type                                           \
	"[], $3::integer[], $4::bigint[], $5::bigint[], $6::bigint[]" LIST_PARAMS                  \
	") ON CONFLICT (" id ", " key                                                              \
	") DO UPDATE SET (entries, humans, bots, uniques, " ROLLUP_TABLE_COLUMNS                   \
	") = (EXCLUDED.entries, EXCLUDED.humans, EXCLUDED.bots, EXCLUDED.uniques, "                \
	"EXCLUDED.quarters" VISIT_DIMENSION_ROLLED_UP(EXCLUDED) ")"
/* One for each list. */
#define LIST_PARAMS                                                                                \
	", $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], "            \
	"$13::text[], $14::text[], $15::text[], $16::text[], $17::text[], $18::text[], "           \
	"$19::text[], $20::text[], $21::text[], $22::text[]"
static_assert(ROLLUP_TABLE_LISTS == 16, "as many parameters as lists");
#define TABLE(table, id, key, type)                                                                \
	{                                                                                          \
		READ_SQL(table, id, key, type), WRITE_SQL(table, id, key, type)                    \
	}
static const struct {
	const char *read_sql;
	const char *write_sql;
} tables[ROLLUP_TABLES] = {
	[ROLLUP_TABLE_LINK_HOURS] = TABLE("rollup_hour", "link_id", "hour", "timestamptz"),
	[ROLLUP_TABLE_LINK_DAYS] = TABLE("rollup_day", "link_id", "day", "date"),
	[ROLLUP_TABLE_WORKSPACE_HOURS] =
		TABLE("rollup_workspace_hour", "workspace_id", "hour", "timestamptz"),
	[ROLLUP_TABLE_WORKSPACE_DAYS] =
		TABLE("rollup_workspace_day", "workspace_id", "day", "date"),
};

/* The columns of the rows as they will be, in the order of the parameters. */
enum { ENTRIES, HUMANS, BOTS, UNIQUES, NUMBERS };

struct writer {
	const struct rollup_table_change *changes;
	size_t count;
	struct sql_column ids, starts, numbers[NUMBERS], lists[ROLLUP_TABLE_LISTS];
	struct pg_result *stored;
	struct rollup_list_sum sum;
	struct strbuf list;
	int64_t entries;
};

static void writer_init(struct writer *writer, enum rollup_table table)
{
	bool is_day = table == ROLLUP_TABLE_LINK_DAYS || table == ROLLUP_TABLE_WORKSPACE_DAYS;
	sql_column_init(&writer->ids, SQL_COLUMN_INT8, COLUMN_BYTES_MAX);
	sql_column_init(&writer->starts, is_day ? SQL_COLUMN_DATE : SQL_COLUMN_TIME,
	                COLUMN_BYTES_MAX);
	for (size_t i = 0; i < NUMBERS; i++)
		sql_column_init(&writer->numbers[i],
		                i == ENTRIES ? SQL_COLUMN_INT4 : SQL_COLUMN_INT8, COLUMN_BYTES_MAX);
	for (size_t i = 0; i < ROLLUP_TABLE_LISTS; i++)
		sql_column_init(&writer->lists[i], SQL_COLUMN_TEXT, COLUMN_BYTES_MAX);
	strbuf_init(&writer->list, LIST_BYTES_MAX);
}

static void writer_clear(struct writer *writer)
{
	sql_column_clear(&writer->ids);
	sql_column_clear(&writer->starts);
	for (size_t i = 0; i < NUMBERS; i++)
		sql_column_clear(&writer->numbers[i]);
	for (size_t i = 0; i < ROLLUP_TABLE_LISTS; i++)
		sql_column_clear(&writer->lists[i]);
	pg_result_free(writer->stored);
	rollup_list_sum_clear(&writer->sum);
	strbuf_clear(&writer->list);
}

static int by_row(const void *a, const void *b)
{
	const struct rollup_table_change *first = a;
	const struct rollup_table_change *second = b;
	if (first->id != second->id)
		return first->id < second->id ? -1 : 1;
	return (first->start_us > second->start_us) - (first->start_us < second->start_us);
}

static bool is_new_row(const struct writer *writer, size_t i)
{
	return i == 0 || by_row(&writer->changes[i - 1], &writer->changes[i]) != 0;
}

/* Locks the rows and reads their lists. */
static enum err read_rows(struct writer *writer, struct pg_conn *conn, enum rollup_table table)
{
	struct pg_params params = { 0 };
	for (size_t i = 0; i < writer->count; i++) {
		const struct rollup_table_change *change = &writer->changes[i];
		if (!is_new_row(writer, i))
			continue;
		sql_column_add_int(&writer->ids, change->id);
		if (writer->starts.type == SQL_COLUMN_DATE)
			sql_column_add_day(&writer->starts, clock_utc_day(change->start_us));
		else
			sql_column_add_time(&writer->starts, change->start_us);
	}
	enum err err = sql_column_param(&writer->ids, &params);
	if (err == OK)
		err = sql_column_param(&writer->starts, &params);
	return err == OK
	               ? pg_conn_query_once(conn, tables[table].read_sql, &params, &writer->stored)
	               : err;
}

/* Adds the list of some changes, which are of the same row, to the stored one. */
static enum err add_list(struct writer *writer, const struct rollup_table_change *changes,
                         size_t count, const char *stored, size_t list, size_t *entries)
{
	writer->sum.is_exact = list == 0;
	enum err err = rollup_list_sum_add(&writer->sum, stored);
	for (size_t i = 0; err == OK && i < count; i++)
		err = rollup_list_sum_add(&writer->sum, changes[i].lists[list]);
	if (err == OK)
		err = rollup_list_sum_write(&writer->sum, &writer->list, entries);
	if (err == OK)
		err = strbuf_status(&writer->list);
	if (err == OK)
		sql_column_add_text(&writer->lists[list],
		                    writer->list.len > 0 ? writer->list.data : NULL);
	return err == ERR_INVALID ? ERR_INTERNAL : err;
}

/* stored: the row's lists in the result, or no row of it. */
static enum err add_row(struct writer *writer, const struct rollup_table_change *changes,
                        size_t count, size_t stored)
{
	size_t entries = 0;
	for (size_t list = 0; list < ROLLUP_TABLE_LISTS; list++) {
		size_t written = 0;
		enum err err = add_list(writer, changes, count,
		                        pg_result_text(writer->stored, stored, 1 + (int)list), list,
		                        &written);
		if (err != OK)
			return err;
		entries += written;
		if (list > 0)
			continue;
		sql_column_add_int(&writer->numbers[HUMANS], writer->sum.totals.humans);
		sql_column_add_int(&writer->numbers[BOTS], writer->sum.totals.bots);
		sql_column_add_int(&writer->numbers[UNIQUES], writer->sum.totals.uniques);
	}
	sql_column_add_int(&writer->numbers[ENTRIES], (int64_t)entries);
	writer->entries += (int64_t)entries;
	return OK;
}

static enum err add_rows(struct writer *writer)
{
	enum err err = OK;
	size_t found = 0;
	int64_t row = 0;
	for (size_t first = 0, next = 0; err == OK && first < writer->count; first = next) {
		for (next = first + 1; next < writer->count && !is_new_row(writer, next); next++)
			;
		row++;
		bool is_stored = pg_result_int(writer->stored, found, 0) == row;
		err = add_row(writer, &writer->changes[first], next - first,
		              is_stored ? found : pg_result_count(writer->stored));
		found += is_stored;
	}
	return err == OK && found != pg_result_count(writer->stored) ? ERR_INTERNAL : err;
}

static enum err write_rows(struct writer *writer, struct pg_conn *conn, enum rollup_table table)
{
	struct pg_params params = { 0 };
	enum err err = sql_column_param(&writer->ids, &params);
	if (err == OK)
		err = sql_column_param(&writer->starts, &params);
	for (size_t i = 0; err == OK && i < NUMBERS; i++)
		err = sql_column_param(&writer->numbers[i], &params);
	for (size_t i = 0; err == OK && i < ROLLUP_TABLE_LISTS; i++)
		err = sql_column_param(&writer->lists[i], &params);
	return err == OK ? pg_conn_query(conn, tables[table].write_sql, &params, NULL) : err;
}

enum err rollup_table_add(struct pg_conn *conn, enum rollup_table table,
                          struct rollup_table_change *changes, size_t count, int64_t *written,
                          int64_t *entries)
{
	struct writer writer = { .changes = changes, .count = count };
	if (count == 0)
		return OK;
	qsort(changes, count, sizeof(*changes), by_row);
	writer_init(&writer, table);
	enum err err = pg_conn_query(conn, LOCK_SQL, NULL, NULL);
	if (err == OK)
		err = read_rows(&writer, conn, table);
	if (err == OK)
		err = add_rows(&writer);
	if (err == OK)
		err = write_rows(&writer, conn, table);
	if (err == OK) {
		*written += writer.ids.count;
		*entries += writer.entries;
	}
	writer_clear(&writer);
	return err;
}
