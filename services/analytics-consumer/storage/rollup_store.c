#include "services/analytics-consumer/storage/rollup_store.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/base/strbuf.h"
#include "lib/clicks/rollup_table.h"
#include "lib/postgres/sql_copy.h"

#define VALUE_BYTES_MAX 300
/* A batch has at most 100,000 visits, and no count is negative. */
#define COUNT_DIGITS_MAX 10
/* Three counts, a value and their separators. */
#define ENTRY_BYTES_MAX (VALUE_BYTES_MAX + 40)
/* A statement deletes this many rows in a fraction of its timeout. */
#define DELETE_ROWS_MAX 5000

#define FIELD_SEPARATOR '\x1f'
#define ENTRY_SEPARATOR '\x1e'

/* Columns in the order of add_row. */
static const char insert_sql[] = "COPY rollup_delta (link_id, owner_id, hour, " ROLLUP_TABLE_COLUMNS
				 ", entries, humans, bots, uniques) FROM STDIN (FORMAT binary)";
#define COLUMNS (3 + ROLLUP_DIMENSIONS + 4)
/* Of everything but the lists. */
#define ROW_BYTES_MAX 160

struct rollup_store {
	struct sql_copy copy;
	struct strbuf list;
};

struct rollup_store *rollup_store_new(size_t visits_max)
{
	struct rollup_store *store = mem_zero(sizeof(*store));
	sql_copy_init(&store->copy,
	              visits_max * (ROLLUP_DIMENSIONS * ENTRY_BYTES_MAX + ROW_BYTES_MAX));
	strbuf_init(&store->list, visits_max * ENTRY_BYTES_MAX);
	return store;
}

void rollup_store_free(struct rollup_store *store)
{
	if (!store)
		return;
	sql_copy_clear(&store->copy);
	strbuf_clear(&store->list);
	free(store);
}

/* Writes a count and a separator. By hand, because formatting was a tenth of counting a click. */
static char *put_count(char *at, int32_t count)
{
	char digits[COUNT_DIGITS_MAX];
	int n = 0;
	for (uint32_t left = (uint32_t)count; left > 0 || n == 0; left /= 10)
		digits[n++] = (char)('0' + left % 10);
	while (n > 0)
		*at++ = digits[--n];
	*at++ = FIELD_SEPARATOR;
	return at;
}

/* Facts contain no control characters, so a value contains no separator. */
static void add_entry(struct strbuf *list, const struct rollup_row *row)
{
	char counts[1 + 3 * (COUNT_DIGITS_MAX + 1)];
	char *at = counts;
	if (list->len > 0)
		*at++ = ENTRY_SEPARATOR;
	at = put_count(at, row->humans);
	at = put_count(at, row->bots);
	at = put_count(at, row->uniques);
	strbuf_add(list, counts, (size_t)(at - counts));
	strbuf_add_text(list, row->value);
}

/* Adds the list of the dimension. Returns the number of its entries, which begin with rows. */
static size_t add_list(struct rollup_store *store, enum rollup_dimension dimension,
                       const struct rollup_row *rows, size_t count)
{
	size_t entries = 0;
	strbuf_reset(&store->list);
	for (; entries < count && rows[entries].dimension == dimension; entries++)
		add_entry(&store->list, &rows[entries]);
	if (entries == 0)
		sql_copy_add_null(&store->copy);
	else
		sql_copy_add_bytes(&store->copy, store->list.data, store->list.len);
	return entries;
}

/* rows are of one link and hour. */
static void add_row(struct rollup_store *store, const struct rollup_row *rows, size_t count)
{
	struct rollup_row total = { 0 };
	size_t added = 0;
	for (size_t i = 0; i < count && rows[i].dimension == ROLLUP_QUARTERS; i++) {
		total.humans += rows[i].humans;
		total.bots += rows[i].bots;
		total.uniques += rows[i].uniques;
	}
	sql_copy_begin_row(&store->copy, COLUMNS);
	sql_copy_add_int8(&store->copy, rows->link_id);
	sql_copy_add_int8(&store->copy, rows->owner_id);
	sql_copy_add_time(&store->copy, rows->hour_us);
	for (enum rollup_dimension d = 0; d < ROLLUP_DIMENSIONS; d++)
		added += add_list(store, d, rows + added, count - added);
	sql_copy_add_int4(&store->copy, (int32_t)count);
	sql_copy_add_int4(&store->copy, total.humans);
	sql_copy_add_int4(&store->copy, total.bots);
	sql_copy_add_int4(&store->copy, total.uniques);
}

enum err rollup_store_add(struct rollup_store *store, struct pg_conn *conn,
                          const struct rollup_rows *rows)
{
	if (rows->count == 0)
		return OK;
	sql_copy_reset(&store->copy);
	for (size_t first = 0, end = 0; first < rows->count; first = end) {
		const struct rollup_row *row = &rows->rows[first];
		while (end < rows->count && rows->rows[end].link_id == row->link_id &&
		       rows->rows[end].hour_us == row->hour_us)
			end++;
		add_row(store, row, end - first);
	}
	enum err err = sql_copy_finish(&store->copy);
	return err == OK ? pg_conn_copy(conn, insert_sql, store->copy.bytes, store->copy.len) : err;
}

enum err rollup_store_delete_purged(struct pg_conn *conn, struct sql_column *slugs, int64_t *rows)
{
	struct pg_params params = { 0 };
	enum err err = sql_column_param(slugs, &params);
	pg_params_int(&params, DELETE_ROWS_MAX);
	return err == OK ? pg_conn_query_int(conn, "SELECT statistics_delete_slugs($1, $2)",
	                                     &params, rows)
	                 : err;
}
