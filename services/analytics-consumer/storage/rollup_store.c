#include "services/analytics-consumer/storage/rollup_store.h"

#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/postgres/sql_column.h"

#define VALUE_BYTES_MAX 300
/* A statement deletes this many rows in a fraction of its timeout. */
#define DELETE_ROWS_MAX 5000

/* In the order of the parameters. Quarters have only the columns before DIMENSION. */
enum column { LINK_ID, BUCKET, HUMANS, BOTS, UNIQUES, DIMENSION, VALUE, COLUMNS };

static const enum sql_column_type types[COLUMNS] = {
	[LINK_ID] = SQL_COLUMN_INT8, [BUCKET] = SQL_COLUMN_TIME,  [HUMANS] = SQL_COLUMN_INT4,
	[BOTS] = SQL_COLUMN_INT4,    [UNIQUES] = SQL_COLUMN_INT4, [DIMENSION] = SQL_COLUMN_INT2,
	[VALUE] = SQL_COLUMN_TEXT,
};

/* unnest in the target list, not in FROM: rows then stream into the table without a tuple store. */
#define COUNTS "unnest($3::integer[]), unnest($4::integer[]), unnest($5::integer[])"
/*
 * A dimension is sent as its index among the names. OFFSET 0 prevents a look-up of the names for
 * each row.
 */
#define DIMENSION_AND_VALUE "names[unnest($6::smallint[])], unnest($7::text[])"
#define NAMES " FROM (SELECT enum_range(NULL::visit_dimension) OFFSET 0) AS dimension (names) "
#define ADD                                                                                        \
	"DO UPDATE SET humans = old.humans + EXCLUDED.humans, bots = old.bots + EXCLUDED.bots, "   \
	"uniques = old.uniques + EXCLUDED.uniques"

static const char add_quarters_sql[] =
	"INSERT INTO visit_rollup_quarter AS old (link_id, bucket, humans, bots, uniques) "
	"SELECT unnest($1::bigint[]), unnest($2::timestamptz[]), " COUNTS
	" ON CONFLICT (link_id, bucket) " ADD;

static const char add_hours_sql[] =
	"INSERT INTO visit_rollup_hour AS old (link_id, bucket, humans, bots, uniques, dimension, value) "
	"SELECT unnest($1::bigint[]), unnest($2::timestamptz[]), " COUNTS
	", " DIMENSION_AND_VALUE NAMES "ON CONFLICT (link_id, dimension, bucket, value) " ADD;

/*
 * The row of daily_rollup_progress says how much of next_day is finished. It cannot change, because
 * the day is locked.
 */
static const char add_day_totals_sql[] =
	"INSERT INTO visit_total_day AS old (link_id, day, humans, bots, uniques) SELECT late.* FROM "
	"(SELECT unnest($1::bigint[]) AS link_id, unnest($2::date[]) AS day, " COUNTS
	") AS late, daily_rollup_progress "
	"WHERE daily_rollup_has_total(daily_rollup_progress, link_id, day) ORDER BY link_id, day "
	"ON CONFLICT (link_id, day) " ADD;

static const char add_day_values_sql[] =
	"INSERT INTO visit_rollup_day AS old (link_id, day, humans, bots, uniques, dimension, value) SELECT late.* FROM "
	"(SELECT unnest($1::bigint[]) AS link_id, unnest($2::date[]) AS day, " COUNTS
	", names[unnest($6::smallint[])] AS dimension, unnest($7::text[]) COLLATE \"C\" AS value" NAMES
	") AS late, daily_rollup_progress WHERE daily_rollup_has_value(daily_rollup_progress, link_id, day, dimension, value) "
	"ORDER BY link_id, dimension, day, value ON CONFLICT (link_id, dimension, day, value) " ADD;

static const char lock_days_sql[] = "SELECT daily_rollup_lock_days($1::date[]) - date '1970-01-01'";

struct rollup_store {
	struct sql_column columns[COLUMNS];
	struct sql_column days; /* replaces BUCKET for tables by day */
};

struct rollup_store *rollup_store_new(size_t visits_max)
{
	struct rollup_store *store = mem_zero(sizeof(*store));
	size_t bytes_max = (visits_max * ROLLUP_DIMENSIONS + 1) * VALUE_BYTES_MAX;
	for (size_t i = 0; i < COLUMNS; i++)
		sql_column_init(&store->columns[i], types[i], bytes_max);
	sql_column_init(&store->days, SQL_COLUMN_DATE, bytes_max);
	return store;
}

void rollup_store_free(struct rollup_store *store)
{
	if (!store)
		return;
	for (size_t i = 0; i < COLUMNS; i++)
		sql_column_clear(&store->columns[i]);
	sql_column_clear(&store->days);
	free(store);
}

static void add_row(struct rollup_store *store, const struct rollup_row *row)
{
	struct sql_column *columns = store->columns;
	sql_column_add_int(&columns[LINK_ID], row->link_id);
	sql_column_add_time(&columns[BUCKET], row->bucket_us);
	sql_column_add_day(&store->days, clock_utc_day(row->bucket_us));
	sql_column_add_int(&columns[HUMANS], row->humans);
	sql_column_add_int(&columns[BOTS], row->bots);
	sql_column_add_int(&columns[UNIQUES], row->uniques);
	sql_column_add_int(&columns[DIMENSION], row->dimension);
	sql_column_add_text(&columns[VALUE], row->value);
}

static void fill(struct rollup_store *store, const struct rollup_rows *rows)
{
	for (size_t i = 0; i < COLUMNS; i++)
		sql_column_reset(&store->columns[i]);
	sql_column_reset(&store->days);
	for (size_t i = 0; i < rows->count; i++)
		add_row(store, &rows->rows[i]);
}

static enum err add(struct rollup_store *store, struct pg_conn *conn, const char *sql,
                    size_t columns, struct sql_column *bucket, const struct rollup_rows *rows)
{
	struct pg_params params = { 0 };
	enum err err = OK;
	if (rows->count == 0)
		return OK;
	fill(store, rows);
	for (size_t i = 0; err == OK && i < columns; i++)
		err = sql_column_param(i == BUCKET ? bucket : &store->columns[i], &params);
	return err == OK ? pg_conn_query(conn, sql, &params, NULL) : err;
}

/*
 * Locks the days against being finished until the transaction ends. *next_day: the first day that
 * is not finished.
 */
static enum err lock_days(struct rollup_store *store, struct pg_conn *conn,
                          const struct rollup_rows *quarters, int64_t *next_day)
{
	struct pg_params params = { 0 };
	int32_t last = 0;
	sql_column_reset(&store->days);
	for (size_t i = 0; i < quarters->count; i++) {
		int32_t day = clock_utc_day(quarters->rows[i].bucket_us);
		if (store->days.count == 0 || day != last)
			sql_column_add_day(&store->days, day);
		last = day;
	}
	enum err err = sql_column_param(&store->days, &params);
	return err == OK ? pg_conn_query_int(conn, lock_days_sql, &params, next_day) : err;
}

enum err rollup_store_add(struct rollup_store *store, struct pg_conn *conn, struct rollup *rollup,
                          const struct rollup_sums *sums)
{
	struct sql_column *buckets = &store->columns[BUCKET];
	int64_t next_day = 0;
	enum err err = OK;
	if (sums->quarters.count == 0)
		return OK;
	err = lock_days(store, conn, &sums->quarters, &next_day);
	if (err == OK)
		err = add(store, conn, add_quarters_sql, DIMENSION, buckets, &sums->quarters);
	if (err == OK)
		err = add(store, conn, add_hours_sql, COLUMNS, buckets, &sums->hours);
	if (err != OK)
		return err;
	struct rollup_days days = rollup_sum_days(rollup, (int32_t)next_day);
	err = add(store, conn, add_day_totals_sql, DIMENSION, &store->days, &days.totals);
	if (err == OK)
		err = add(store, conn, add_day_values_sql, COLUMNS, &store->days, &days.values);
	return err;
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
