#include "services/analytics-consumer/visitor_store.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/net/sql_column.h"

static const char see_sql[] = "INSERT INTO link_day_visitors (day, link_id, visitor_hash) "
			      "SELECT unnest($1::date[]), unnest($2::bigint[]), unnest($3::bigint[]) "
			      "ON CONFLICT DO NOTHING RETURNING day - date '1970-01-01', link_id, visitor_hash";

struct visitor_store {
	struct visit **sorted; /* one visit of each visitor to each link on each day, in the order of the key */
	size_t sorted_count;
	struct sql_column day;
	struct sql_column link_id;
	struct sql_column visitor_hash;
};

struct visitor_store *visitor_store_new(size_t visits_max)
{
	struct visitor_store *store = mem_zero(sizeof(*store));
	store->sorted = mem_array(visits_max, sizeof(struct visit *));
	sql_column_init(&store->day, SQL_COLUMN_DATE, (visits_max + 3) * 8);
	sql_column_init(&store->link_id, SQL_COLUMN_INT8, (visits_max + 2) * 12);
	sql_column_init(&store->visitor_hash, SQL_COLUMN_INT8, (visits_max + 2) * 12);
	return store;
}

void visitor_store_free(struct visitor_store *store)
{
	if (!store)
		return;
	sql_column_clear(&store->day);
	sql_column_clear(&store->link_id);
	sql_column_clear(&store->visitor_hash);
	free(store->sorted);
	free(store);
}

/* What the table keeps of the hash: its first eight bytes. */
static int64_t short_hash(const struct visit *visit)
{
	uint64_t wide;
	memcpy(&wide, visit->visitor_hash, sizeof(wide));
	return (int64_t)be64toh(wide);
}

static int compare_keys(const struct visit *left, const struct visit *right)
{
	if (left->day != right->day)
		return left->day < right->day ? -1 : 1;
	if (left->event.link_id != right->event.link_id)
		return left->event.link_id < right->event.link_id ? -1 : 1;
	int64_t left_hash = short_hash(left);
	int64_t right_hash = short_hash(right);
	return (left_hash > right_hash) - (left_hash < right_hash);
}

static int by_key(const void *a, const void *b)
{
	const struct visit *left = *(const struct visit *const *)a;
	const struct visit *right = *(const struct visit *const *)b;
	int order = compare_keys(left, right);
	/* Equal ones in the order in which they came: the first of them may be unique. */
	return order != 0 ? order : (left > right) - (left < right);
}

static void sort_visitors(struct visitor_store *store, struct visit *visits, size_t count)
{
	size_t n = 0;
	for (size_t i = 0; i < count; i++) {
		visits[i].event.unique = visits[i].event.unique && visits[i].fate != VISIT_NEW;
		if (visits[i].fate == VISIT_NEW && visits[i].has_visitor_hash && !visits[i].event.is_bot)
			store->sorted[n++] = &visits[i];
	}
	qsort(store->sorted, n, sizeof(struct visit *), by_key);
	store->sorted_count = 0;
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || compare_keys(store->sorted[i], store->sorted[store->sorted_count - 1]) != 0)
			store->sorted[store->sorted_count++] = store->sorted[i];
	}
}

static bool row_is(const struct pg_result *rows, size_t row, const struct visit *visit)
{
	return row < pg_result_count(rows) && pg_result_int(rows, row, 0) == visit->day &&
	       pg_result_int(rows, row, 1) == visit->event.link_id && pg_result_int(rows, row, 2) == short_hash(visit);
}

static enum err add_params(struct visitor_store *store, struct pg_params *params)
{
	sql_column_reset(&store->day);
	sql_column_reset(&store->link_id);
	sql_column_reset(&store->visitor_hash);
	for (size_t i = 0; i < store->sorted_count; i++) {
		const struct visit *visit = store->sorted[i];
		sql_column_add_day(&store->day, visit->day);
		sql_column_add_int(&store->link_id, visit->event.link_id);
		sql_column_add_int(&store->visitor_hash, short_hash(visit));
	}
	enum err err = sql_column_param(&store->day, params);
	if (err == OK)
		err = sql_column_param(&store->link_id, params);
	if (err == OK)
		err = sql_column_param(&store->visitor_hash, params);
	return err;
}

enum err visitor_store_see(struct visitor_store *store, struct pg_conn *conn, struct visit *visits, size_t count)
{
	sort_visitors(store, visits, count);
	if (store->sorted_count == 0)
		return OK;
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	enum err err = add_params(store, &params);
	if (err == OK)
		err = pg_conn_query(conn, see_sql, &params, &rows);
	/* Rows come back in the order in which they went in; visitors between them have been seen before. */
	size_t row = 0;
	for (size_t i = 0; err == OK && i < store->sorted_count; i++) {
		if (row_is(rows, row, store->sorted[i])) {
			store->sorted[i]->event.unique = true;
			row++;
		}
	}
	if (err == OK && row != pg_result_count(rows))
		err = ERR_INTERNAL;
	pg_result_free(rows);
	return err;
}
