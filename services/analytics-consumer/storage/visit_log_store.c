#include "services/analytics-consumer/storage/visit_log_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/clicks/visit_dimension.h"
#include "lib/postgres/sql_column.h"
#include "lib/postgres/sql_copy.h"

/* Texts of a visit_event that are columns of the same name. */
#define TEXTS(X)                                                                                   \
	VISIT_DIMENSION_ROLLED_UP(X)                                                               \
	VISIT_DIMENSION_OF_LOG(X)                                                                  \
	X(SLUG, slug)                                                                              \
	X(BROWSER_VERSION, browser_version)                                                        \
	X(OS_VERSION, os_version)
#define COLUMN(NAME, name) ", " #name
#define ONE(NAME, name) +1 // NOLINT(bugprone-macro-parentheses): a term of a sum

/* Columns in the order of add_row. */
static const char insert_sql[] =
	"COPY visit_log (day, event_id, occurred_at, link_id, status, latency_us, is_bot, visitor_hash, is_unique, "
	"client_network, served_from, workspace_id" TEXTS(COLUMN) ") FROM STDIN (FORMAT binary)";
#define COLUMNS (12 TEXTS(ONE))

/* One index probe per visit. LIMIT prevents a plan with a join, which could read the whole day. */
static const char find_duplicates_sql[] =
	"SELECT wanted.position FROM unnest($2::uuid[]) WITH ORDINALITY AS wanted (event_id, position) "
	"CROSS JOIN LATERAL (SELECT FROM visit_log AS v WHERE v.day = $1::date AND v.event_id = wanted.event_id "
	"LIMIT 1) AS found";

static const char find_visitors_sql[] =
	"SELECT wanted.position FROM unnest($2::bytea[], $3::bigint[]) WITH ORDINALITY AS wanted (visitor_hash, link_id, position) "
	"CROSS JOIN LATERAL (SELECT FROM visit_log AS v WHERE v.day = $1::date AND v.link_id = wanted.link_id "
	"AND v.visitor_hash = wanted.visitor_hash AND v.is_unique AND v.visitor_hash <> '' LIMIT 1) AS found";

/* Columns in the order of read_event. */
static const char reload_sql[] = "SELECT event_id, link_id, is_bot, is_unique" TEXTS(
	COLUMN) " FROM unnest($1::date[], $2::uuid[]) AS wanted (day, event_id) JOIN visit_log USING (day, event_id) "
		"ORDER BY day, event_id";
enum { EVENT_ID, LINK_ID, IS_BOT, IS_UNIQUE, FIRST_TEXT };

/* The longest texts of a visit, plus the framing of COPY. */
#define ROW_BYTES_MAX (sizeof(struct visit) + 4 * COLUMNS + 2)
/* Of a COPY. PostgreSQL stores one part while the next one is made. */
#define PART_ROWS 100

struct visit_log_store {
	/* The already counted visits, by (day, event_id). */
	struct visit **sorted;
	size_t sorted_count;
	bool *found;
	struct sql_copy rows;
	struct sql_column days;
	struct sql_column event_ids;
	struct sql_column link_ids;
	struct sql_column visitors;
};

struct visit_log_store *visit_log_store_new(size_t visits_max)
{
	struct visit_log_store *store = mem_zero(sizeof(*store));
	store->sorted = mem_array(visits_max, sizeof(struct visit *));
	store->found = mem_array(visits_max, sizeof(bool));
	sql_copy_init(&store->rows, PART_ROWS * ROW_BYTES_MAX);
	sql_column_init(&store->days, SQL_COLUMN_DATE, (visits_max + 3) * 8);
	sql_column_init(&store->event_ids, SQL_COLUMN_UUID,
	                (visits_max + 1) * (4 + ENTROPY_UUID_SIZE));
	sql_column_init(&store->link_ids, SQL_COLUMN_INT8, (visits_max + 2) * 12);
	sql_column_init(&store->visitors, SQL_COLUMN_BYTES,
	                (visits_max + 1) * (4 + VISIT_VISITOR_HASH_SIZE));
	return store;
}

void visit_log_store_free(struct visit_log_store *store)
{
	if (!store)
		return;
	sql_copy_clear(&store->rows);
	sql_column_clear(&store->days);
	sql_column_clear(&store->event_ids);
	sql_column_clear(&store->link_ids);
	sql_column_clear(&store->visitors);
	free(store->sorted);
	free(store->found);
	free(store);
}

static void reset_columns(struct visit_log_store *store)
{
	sql_column_reset(&store->days);
	sql_column_reset(&store->event_ids);
	sql_column_reset(&store->link_ids);
	sql_column_reset(&store->visitors);
}

/* --- look up --- */

enum subject { DUPLICATES, VISITORS };

static enum err query(struct visit_log_store *store, struct pg_conn *conn, enum subject subject,
                      struct visit *const *visits, size_t count, struct pg_result **rows)
{
	struct pg_params params = { 0 };
	reset_columns(store);
	for (size_t i = 0; i < count; i++) {
		sql_column_add_bytes(&store->event_ids, visits[i]->event.event_id,
		                     ENTROPY_UUID_SIZE);
		sql_column_add_bytes(&store->visitors, visits[i]->visitor_hash,
		                     VISIT_VISITOR_HASH_SIZE);
		sql_column_add_int(&store->link_ids, visits[i]->event.link_id);
	}
	pg_params_day(&params, visits[0]->day);
	enum err err = sql_column_param(
		subject == DUPLICATES ? &store->event_ids : &store->visitors, &params);
	if (err == OK && subject == VISITORS)
		err = sql_column_param(&store->link_ids, &params);
	if (err != OK)
		return err;
	return pg_conn_query(conn, subject == DUPLICATES ? find_duplicates_sql : find_visitors_sql,
	                     &params, rows);
}

/* All visits are of one day. */
static enum err find_of_day(struct visit_log_store *store, struct pg_conn *conn,
                            enum subject subject, struct visit *const *visits, size_t count,
                            bool *found)
{
	struct pg_result *rows = NULL;
	enum err err = query(store, conn, subject, visits, count, &rows);
	for (size_t i = 0; err == OK && i < pg_result_count(rows); i++) {
		int64_t position = pg_result_int(rows, i, 0);
		if (position < 1 || position > (int64_t)count)
			err = ERR_INTERNAL;
		else
			found[position - 1] = true;
	}
	pg_result_free(rows);
	return err;
}

/* One statement per day, so that it reads only the partition of that day. */
static enum err find(struct visit_log_store *store, struct pg_conn *conn, enum subject subject,
                     struct visit *const *visits, size_t count, bool *found)
{
	enum err err = OK;
	memset(found, 0, count * sizeof(*found));
	for (size_t first = 0, end = 0; err == OK && first < count; first = end) {
		while (end < count && visits[end]->day == visits[first]->day)
			end++;
		err = find_of_day(store, conn, subject, visits + first, end - first, found + first);
	}
	return err;
}

enum err visit_log_store_find_visitors(struct visit_log_store *store, struct pg_conn *conn,
                                       struct visit *const *visits, size_t count, bool *seen)
{
	return find(store, conn, VISITORS, visits, count, seen);
}

enum err visit_log_store_drop_duplicates(struct visit_log_store *store, struct pg_conn *conn,
                                         struct visit_order *order)
{
	enum err err = find(store, conn, DUPLICATES, order->visits, order->count, store->found);
	if (err != OK)
		return err;
	for (size_t i = 0; i < order->count; i++) {
		if (store->found[i])
			order->visits[i]->disposition = VISIT_DUPLICATE;
	}
	visit_order_drop_duplicates(order);
	return OK;
}

/* --- insert --- */

static void add_row(struct sql_copy *rows, const struct visit *visit)
{
	const struct visit_event *event = &visit->event;
	sql_copy_begin_row(rows, COLUMNS);
	sql_copy_add_day(rows, visit->day);
	sql_copy_add_bytes(rows, event->event_id, sizeof(event->event_id));
	sql_copy_add_time(rows, event->occurred_at_us);
	sql_copy_add_int8(rows, event->link_id);
	sql_copy_add_int2(rows, (int16_t)event->status);
	sql_copy_add_int4(rows, (int32_t)event->latency_us);
	sql_copy_add_bool(rows, event->is_bot);
	sql_copy_add_bytes(rows, visit->visitor_hash,
	                   visit->has_visitor_hash ? sizeof(visit->visitor_hash) : 0);
	sql_copy_add_bool(rows, event->is_unique);
	sql_copy_add_text(rows, visit->client_network);
	sql_copy_add_text(rows, visit->served_from);
	sql_copy_add_int8(rows, event->workspace_id);
#define ADD_TEXT(NAME, name) sql_copy_add_text(rows, event->name);
	TEXTS(ADD_TEXT)
}

enum err visit_log_store_send(struct visit_log_store *store, struct pg_conn *conn,
                              const struct visit_order *order)
{
	enum err err = pg_conn_copy_begin(conn, insert_sql);
	sql_copy_reset(&store->rows);
	for (size_t i = 0; err == OK && i < order->count; i++) {
		add_row(&store->rows, order->visits[i]);
		if ((i + 1) % PART_ROWS == 0) {
			err = pg_conn_copy_put(conn, store->rows.bytes, store->rows.len);
			sql_copy_next_part(&store->rows);
		}
	}
	if (err == OK)
		err = sql_copy_finish(&store->rows);
	return err == OK ? pg_conn_copy_put(conn, store->rows.bytes, store->rows.len) : err;
}

enum err visit_log_store_await(struct pg_conn *conn)
{
	return pg_conn_copy_end(conn);
}

/* --- reload --- */

static int compare_keys(const struct visit *left, const struct visit *right)
{
	if (left->day != right->day)
		return left->day < right->day ? -1 : 1;
	return memcmp(left->event.event_id, right->event.event_id, sizeof(left->event.event_id));
}

static int by_key(const void *a, const void *b)
{
	const struct visit *left = *(const struct visit *const *)a;
	const struct visit *right = *(const struct visit *const *)b;
	int order = compare_keys(left, right);
	/* Equal visits in order of arrival. */
	return order != 0 ? order : (left > right) - (left < right);
}

static void sort_already_counted(struct visit_log_store *store, struct visit *visits, size_t count)
{
	store->sorted_count = 0;
	for (size_t i = 0; i < count; i++) {
		if (visits[i].disposition == VISIT_ALREADY_COUNTED)
			store->sorted[store->sorted_count++] = &visits[i];
	}
	qsort(store->sorted, store->sorted_count, sizeof(struct visit *), by_key);
}

static bool row_is(const struct pg_result *rows, size_t row, const struct visit *visit)
{
	char id[ENTROPY_UUID_TEXT_SIZE];
	if (row >= pg_result_count(rows))
		return false;
	entropy_uuid_format(visit->event.event_id, id);
	return strcmp(pg_result_text(rows, row, EVENT_ID), id) == 0;
}

static void read_event(const struct pg_result *rows, size_t row, struct visit_event *out)
{
	int column = FIRST_TEXT;
	out->link_id = pg_result_int(rows, row, LINK_ID);
	out->is_bot = pg_result_bool(rows, row, IS_BOT);
	out->is_unique = pg_result_bool(rows, row, IS_UNIQUE);
#define READ_TEXT(NAME, name)                                                                      \
	snprintf(out->name, sizeof(out->name), "%s", pg_result_text(rows, row, column++));
	TEXTS(READ_TEXT)
}

enum err visit_log_store_reload(struct visit_log_store *store, struct pg_conn *conn,
                                struct visit *visits, size_t count)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	sort_already_counted(store, visits, count);
	if (store->sorted_count == 0)
		return OK;
	reset_columns(store);
	for (size_t i = 0; i < store->sorted_count; i++) {
		const struct visit *visit = store->sorted[i];
		sql_column_add_day(&store->days, visit->day);
		sql_column_add_bytes(&store->event_ids, visit->event.event_id,
		                     sizeof(visit->event.event_id));
	}
	enum err err = sql_column_param(&store->days, &params);
	if (err == OK)
		err = sql_column_param(&store->event_ids, &params);
	if (err == OK)
		err = pg_conn_query(conn, reload_sql, &params, &rows);
	size_t row = 0;
	for (size_t i = 0; err == OK && i < store->sorted_count; i++) {
		/* A record that is in the topic twice gives two rows. */
		if (row_is(rows, row, store->sorted[i]))
			read_event(rows, row++, &store->sorted[i]->event);
		else
			store->sorted[i]->disposition = VISIT_DUPLICATE;
	}
	pg_result_free(rows);
	return err;
}
