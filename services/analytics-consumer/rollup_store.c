#include "services/analytics-consumer/rollup_store.h"

#include "lib/base/mem.h"
#include "lib/net/sql_column.h"

#define VALUE_BYTES_MAX 300

enum column { LINK_ID, BUCKET, DIMENSION, VALUE, HUMANS, BOTS, COLUMNS };

static const enum sql_column_type types[COLUMNS] = { SQL_COLUMN_INT8, SQL_COLUMN_TIME, SQL_COLUMN_TEXT,
	                                             SQL_COLUMN_TEXT, SQL_COLUMN_INT8, SQL_COLUMN_INT8 };

static const char add_sql[] =
	"INSERT INTO visit_rollup_hour AS old (link_id, bucket, dimension, value, humans, bots) "
	"SELECT unnest($1::bigint[]), unnest($2::timestamptz[]), unnest($3::text[]), unnest($4::text[]), "
	"unnest($5::bigint[]), unnest($6::bigint[]) "
	"ON CONFLICT (link_id, dimension, bucket, value) DO UPDATE SET "
	"humans = old.humans + EXCLUDED.humans, bots = old.bots + EXCLUDED.bots";

struct rollup_store {
	struct sql_column columns[COLUMNS];
};

struct rollup_store *rollup_store_new(size_t visits_max)
{
	struct rollup_store *store = mem_zero(sizeof(*store));
	for (size_t i = 0; i < COLUMNS; i++)
		sql_column_init(&store->columns[i], types[i], (visits_max * ROLLUP_DIMENSIONS + 1) * VALUE_BYTES_MAX);
	return store;
}

void rollup_store_free(struct rollup_store *store)
{
	if (!store)
		return;
	for (size_t i = 0; i < COLUMNS; i++)
		sql_column_clear(&store->columns[i]);
	free(store);
}

static void add_row(struct sql_column *columns, const struct rollup_row *row)
{
	sql_column_add_int(&columns[LINK_ID], row->link_id);
	sql_column_add_time(&columns[BUCKET], row->bucket_us);
	sql_column_add_text(&columns[DIMENSION], rollup_dimension_name(row->dimension));
	sql_column_add_text(&columns[VALUE], row->value);
	sql_column_add_int(&columns[HUMANS], row->humans);
	sql_column_add_int(&columns[BOTS], row->bots);
}

enum err rollup_store_add(struct rollup_store *store, struct pg_conn *conn, const struct rollup_row *rows, size_t count)
{
	if (count == 0)
		return OK;
	struct pg_params params = { 0 };
	enum err err = OK;
	for (size_t i = 0; i < COLUMNS; i++)
		sql_column_reset(&store->columns[i]);
	for (size_t i = 0; i < count; i++)
		add_row(store->columns, &rows[i]);
	for (size_t i = 0; err == OK && i < COLUMNS; i++)
		err = sql_column_param(&store->columns[i], &params);
	return err == OK ? pg_conn_query(conn, add_sql, &params, NULL) : err;
}
