#include "services/analytics-consumer/storage/rollup.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/hash_table.h"
#include "lib/base/mem.h"
#include "lib/base/strbuf.h"
#include "lib/clicks/rollup_list.h"
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
static const char insert_sql[] =
	"COPY rollup_delta (link_id, workspace_id, hour, " ROLLUP_TABLE_COLUMNS
	", entries, humans, bots, uniques) FROM STDIN (FORMAT binary)";
#define COLUMNS (3 + ROLLUP_TABLE_LISTS + 4)
/* Of everything but the lists. */
#define ROW_BYTES_MAX 160

#define US_PER_QUARTER (CLOCK_US_PER_HOUR / 4)
#define QUARTERS_OF_A_DAY 96
/* The keys of the table are whole rows. */
#undef HASH_KEYCMP
#define HASH_KEYCMP(a, b, len) (!has_key_of((a), (b)))

struct entry {
	UT_hash_handle hh;
};

struct rollup {
	uint64_t seed;
	char quarters[QUARTERS_OF_A_DAY][3];
	struct rollup_row *rows;
	size_t count;
	/* One for each row, with the same index. */
	struct entry *entries;
	struct entry *by_key;
	/* The rows of rollup_delta, and the list of one of their columns. */
	struct sql_copy copy;
	struct strbuf list;
};

struct rollup *rollup_new(size_t visits_max)
{
	struct rollup *rollup = mem_zero(sizeof(*rollup));
	size_t rows_max = visits_max * ROLLUP_TABLE_LISTS;
	rollup->seed = hash_table_seed();
	for (unsigned i = 0; i < QUARTERS_OF_A_DAY; i++)
		snprintf(rollup->quarters[i], sizeof(rollup->quarters[i]), "%u",
		         i % QUARTERS_OF_A_DAY);
	rollup->rows = mem_array(rows_max, sizeof(*rollup->rows));
	rollup->entries = mem_array(rows_max, sizeof(*rollup->entries));
	sql_copy_init(&rollup->copy,
	              visits_max * (ROLLUP_TABLE_LISTS * ENTRY_BYTES_MAX + ROW_BYTES_MAX));
	strbuf_init(&rollup->list, visits_max * ENTRY_BYTES_MAX);
	return rollup;
}

void rollup_free(struct rollup *rollup)
{
	if (!rollup)
		return;
	sql_copy_clear(&rollup->copy);
	strbuf_clear(&rollup->list);
	free(rollup->entries);
	free(rollup->rows);
	free(rollup);
}

/* --- sum --- */

/* Where a visit has the value of each dimension. */
#define MEMBER(NAME, name) [VISIT_DIMENSION_##NAME] = offsetof(struct visit_event, name),
static const size_t members[VISIT_DIMENSION_LISTS] = { VISIT_DIMENSION_ROLLED_UP(MEMBER) };

static bool has_key_of(const struct rollup_row *row, const struct rollup_row *key)
{
	return row->link_id == key->link_id && row->hour_us == key->hour_us &&
	       row->dimension == key->dimension && strcmp(row->value, key->value) == 0;
}

static unsigned hash_of(const struct rollup *rollup, const struct rollup_row *key)
{
	const int64_t list[] = { key->link_id, key->hour_us + (int64_t)key->dimension };
	uint64_t hash = hash_table_hash(rollup->seed, list, sizeof(list));
	return (unsigned)hash_table_hash(hash, key->value, strlen(key->value));
}

/* Adds the counts of row to the row with the same key. */
static void add(struct rollup *rollup, const struct rollup_row *row)
{
	unsigned hash = hash_of(rollup, row);
	struct entry *entry;
	HASH_FIND_BYHASHVALUE(hh, rollup->by_key, row, sizeof(*row), hash, entry);
	if (entry) {
		struct rollup_row *known = &rollup->rows[entry - rollup->entries];
		known->humans += row->humans;
		known->bots += row->bots;
		known->uniques += row->uniques;
		return;
	}
	struct rollup_row *added = &rollup->rows[rollup->count];
	*added = *row;
	entry = &rollup->entries[rollup->count++];
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, rollup->by_key, added, sizeof(*added), hash, entry);
}

static void add_visit(struct rollup *rollup, const struct visit_event *event)
{
	int64_t at_us = event->occurred_at_us;
	struct rollup_row row = {
		.link_id = event->link_id,
		.workspace_id = event->workspace_id,
		.hour_us = at_us - at_us % CLOCK_US_PER_HOUR,
		.value = rollup->quarters[at_us % CLOCK_US_PER_DAY / US_PER_QUARTER],
		.dimension = VISIT_DIMENSION_QUARTERS,
		.humans = !event->is_bot,
		.bots = event->is_bot,
		.uniques = event->is_unique
	};
	add(rollup, &row);
	for (row.dimension = VISIT_DIMENSION_FIRST; row.dimension < VISIT_DIMENSION_LISTS;
	     row.dimension++) {
		row.value = (const char *)event + members[row.dimension];
		if (row.value[0] != '\0')
			add(rollup, &row);
	}
}

static int by_list(const void *a, const void *b)
{
	const struct rollup_row *left = a;
	const struct rollup_row *right = b;
	if (left->link_id != right->link_id)
		return left->link_id < right->link_id ? -1 : 1;
	if (left->hour_us != right->hour_us)
		return left->hour_us < right->hour_us ? -1 : 1;
	return ((int)left->dimension > (int)right->dimension) -
	       ((int)left->dimension < (int)right->dimension);
}

static int by_visits(const void *a, const void *b)
{
	const struct rollup_row *left = a;
	const struct rollup_row *right = b;
	int64_t left_visits = (int64_t)left->humans + left->bots;
	int64_t right_visits = (int64_t)right->humans + right->bots;
	return (left_visits < right_visits) - (left_visits > right_visits);
}

/* Keeps the values of a list that count most. Returns the new number of rows. */
static size_t cut_list(struct rollup_row *rows, size_t count)
{
	if (count <= ROLLUP_LIST_VALUES_MAX)
		return count;
	qsort(rows, count, sizeof(*rows), by_visits);
	struct rollup_row *other = &rows[ROLLUP_LIST_VALUES_MAX];
	other->value = ROLLUP_LIST_OTHER;
	for (size_t i = ROLLUP_LIST_VALUES_MAX + 1; i < count; i++) {
		other->humans += rows[i].humans;
		other->bots += rows[i].bots;
		other->uniques += rows[i].uniques;
	}
	return ROLLUP_LIST_VALUES_MAX + 1;
}

static void cut_lists(struct rollup *rollup)
{
	size_t kept = 0;
	for (size_t first = 0, end = 0; first < rollup->count; first = end) {
		for (end = first + 1;
		     end < rollup->count && by_list(&rollup->rows[first], &rollup->rows[end]) == 0;
		     end++)
			;
		size_t count = cut_list(&rollup->rows[first], end - first);
		memmove(&rollup->rows[kept], &rollup->rows[first], count * sizeof(*rollup->rows));
		kept += count;
	}
	rollup->count = kept;
}

struct rollup_rows rollup_sum(struct rollup *rollup, const struct visit *visits, size_t count)
{
	rollup->count = 0;
	for (size_t i = 0; i < count; i++) {
		if (visits[i].disposition == VISIT_NEW)
			add_visit(rollup, &visits[i].event);
	}
	HASH_CLEAR(hh, rollup->by_key);
	qsort(rollup->rows, rollup->count, sizeof(*rollup->rows), by_list);
	cut_lists(rollup);
	return (struct rollup_rows){ .rows = rollup->rows, .count = rollup->count };
}

/* --- write --- */

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
static size_t add_list(struct rollup *rollup, enum visit_dimension dimension,
                       const struct rollup_row *rows, size_t count)
{
	size_t entries = 0;
	strbuf_reset(&rollup->list);
	for (; entries < count && rows[entries].dimension == dimension; entries++)
		add_entry(&rollup->list, &rows[entries]);
	if (entries == 0)
		sql_copy_add_null(&rollup->copy);
	else
		sql_copy_add_bytes(&rollup->copy, rollup->list.data, rollup->list.len);
	return entries;
}

/* rows are of one link and hour. */
static void add_row(struct rollup *rollup, const struct rollup_row *rows, size_t count)
{
	struct rollup_row total = { 0 };
	size_t added = 0;
	for (size_t i = 0; i < count && rows[i].dimension == VISIT_DIMENSION_QUARTERS; i++) {
		total.humans += rows[i].humans;
		total.bots += rows[i].bots;
		total.uniques += rows[i].uniques;
	}
	sql_copy_begin_row(&rollup->copy, COLUMNS);
	sql_copy_add_int8(&rollup->copy, rows->link_id);
	sql_copy_add_int8(&rollup->copy, rows->workspace_id);
	sql_copy_add_time(&rollup->copy, rows->hour_us);
	for (enum visit_dimension d = 0; d < ROLLUP_TABLE_LISTS; d++)
		added += add_list(rollup, d, rows + added, count - added);
	sql_copy_add_int4(&rollup->copy, (int32_t)count);
	sql_copy_add_int4(&rollup->copy, total.humans);
	sql_copy_add_int4(&rollup->copy, total.bots);
	sql_copy_add_int4(&rollup->copy, total.uniques);
}

enum err rollup_prepare(struct rollup *rollup, const struct visit *visits, size_t count)
{
	const struct rollup_rows sums = rollup_sum(rollup, visits, count);
	sql_copy_reset(&rollup->copy);
	for (size_t first = 0, end = 0; first < sums.count; first = end) {
		const struct rollup_row *row = &sums.rows[first];
		while (end < sums.count && sums.rows[end].link_id == row->link_id &&
		       sums.rows[end].hour_us == row->hour_us)
			end++;
		add_row(rollup, row, end - first);
	}
	return sql_copy_finish(&rollup->copy);
}

enum err rollup_insert(const struct rollup *rollup, struct pg_conn *conn)
{
	return pg_conn_copy(conn, insert_sql, rollup->copy.bytes, rollup->copy.len);
}

enum err rollup_delete_purged(struct pg_conn *conn, struct sql_column *slugs, int64_t *rows)
{
	struct pg_params params = { 0 };
	enum err err = sql_column_param(slugs, &params);
	pg_params_int(&params, DELETE_ROWS_MAX);
	return err == OK ? pg_conn_query_int(conn, "SELECT statistics_delete_slugs($1, $2)",
	                                     &params, rows)
	                 : err;
}
