#include "lib/clicks/statistics_store.h"

#include <math.h>

#include "lib/clicks/redirect_batch.h"
#include "lib/postgres/sql_column.h"

#define COLUMNS                                                                                    \
	"link_id, visit_count, bot_count, unique_visitors, last_visited_at, latency_count, latency_mean_ms, latency_m2"
enum column { LINK_ID, VISITS, BOTS, UNIQUES, LAST_VISIT, LATENCIES, MEAN, M2, COLUMN_COUNT };

static void init_columns(struct sql_column columns[static COLUMN_COUNT],
                         const struct statistics *deltas, size_t count)
{
	for (size_t i = 0; i < COLUMN_COUNT; i++)
		sql_column_init_for(&columns[i],
		                    i == LAST_VISIT ? SQL_COLUMN_TIME
		                    : i >= MEAN     ? SQL_COLUMN_FLOAT8
		                                    : SQL_COLUMN_INT8,
		                    count, 8);
	for (size_t i = 0; i < count; i++) {
		sql_column_add_int(&columns[LINK_ID], deltas[i].link_id);
		sql_column_add_int(&columns[VISITS], deltas[i].visit_count);
		sql_column_add_int(&columns[BOTS], deltas[i].bot_count);
		sql_column_add_int(&columns[UNIQUES], deltas[i].unique_visitors);
		sql_column_add_time(&columns[LAST_VISIT], deltas[i].last_visited_at_us);
		sql_column_add_int(&columns[LATENCIES], deltas[i].latency_ms.n);
		sql_column_add_double(&columns[MEAN], deltas[i].latency_ms.mean);
		sql_column_add_double(&columns[M2], deltas[i].latency_ms.m2);
	}
}

/* Latencies merge as Chan, Golub and LeVeque 1979 have it. Each expression sees the old row. */
static const char add_sql[] =
	"INSERT INTO link_statistics AS old (" COLUMNS ") "
	"SELECT link_id, visit_count, bot_count, unique_visitors, NULLIF(last_visited_at, 'epoch'), latency_count, "
	"latency_mean_ms, latency_m2 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::timestamptz[], $6::bigint[], "
	"$7::float8[], $8::float8[]) AS delta (" COLUMNS ") ORDER BY link_id "
	"ON CONFLICT (link_id) DO UPDATE SET "
	"visit_count = old.visit_count + EXCLUDED.visit_count, "
	"bot_count = old.bot_count + EXCLUDED.bot_count, "
	"unique_visitors = old.unique_visitors + EXCLUDED.unique_visitors, "
	"last_visited_at = greatest(old.last_visited_at, EXCLUDED.last_visited_at), "
	"latency_count = old.latency_count + EXCLUDED.latency_count, "
	"latency_mean_ms = CASE WHEN EXCLUDED.latency_count = 0 THEN old.latency_mean_ms ELSE old.latency_mean_ms + "
	"(EXCLUDED.latency_mean_ms - old.latency_mean_ms) * EXCLUDED.latency_count / "
	"(old.latency_count + EXCLUDED.latency_count) END, "
	"latency_m2 = CASE WHEN EXCLUDED.latency_count = 0 THEN old.latency_m2 ELSE old.latency_m2 + EXCLUDED.latency_m2 + "
	"(EXCLUDED.latency_mean_ms - old.latency_mean_ms) * (EXCLUDED.latency_mean_ms - old.latency_mean_ms) * "
	"old.latency_count * EXCLUDED.latency_count / (old.latency_count + EXCLUDED.latency_count) END, "
	"updated_at = clock_timestamp()";

enum err statistics_store_add(struct pg_conn *conn, const struct statistics *deltas, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		if (deltas[i - 1].link_id >= deltas[i].link_id)
			return ERR_INTERNAL;
	}
	if (count == 0)
		return OK;
	struct sql_column columns[COLUMN_COUNT];
	init_columns(columns, deltas, count);
	struct pg_params params = { 0 };
	enum err err = OK;
	for (size_t i = 0; err == OK && i < COLUMN_COUNT; i++)
		err = sql_column_param(&columns[i], &params);
	if (err == OK)
		err = pg_conn_query(conn, add_sql, &params, NULL);
	for (size_t i = 0; i < COLUMN_COUNT; i++)
		sql_column_clear(&columns[i]);
	return err;
}

enum err statistics_store_get(struct pg_conn *conn, int64_t link_id, struct statistics *out)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, link_id);
	enum err err = pg_conn_query(
		conn, "SELECT " COLUMNS " FROM link_statistics WHERE link_id = $1", &params, &rows);
	*out = (struct statistics){ .link_id = link_id };
	if (err == OK && pg_result_count(rows) == 1)
		*out = (struct statistics){
			.link_id = link_id,
			.visit_count = pg_result_int(rows, 0, VISITS),
			.bot_count = pg_result_int(rows, 0, BOTS),
			.unique_visitors = pg_result_int(rows, 0, UNIQUES),
			.last_visited_at_us = pg_result_time(rows, 0, LAST_VISIT),
			.latency_ms.n = pg_result_int(rows, 0, LATENCIES),
			.latency_ms.mean = pg_result_double(rows, 0, MEAN),
			.latency_ms.m2 = pg_result_double(rows, 0, M2),
		};
	pg_result_free(rows);
	return err;
}

enum err statistics_store_as_of(struct pg_conn *conn, int64_t *as_of_us)
{
	struct pg_result *rows = NULL;
	struct pg_params params = { 0 };
	pg_params_text(&params, REDIRECT_BATCH_TOPIC);
	enum err err =
		pg_conn_query(conn,
	                      "SELECT CASE WHEN bool_and(as_of IS NOT NULL) THEN min(as_of) END "
	                      "FROM consumer_offsets WHERE topic = $1",
	                      &params, &rows);
	if (err == OK)
		*as_of_us = pg_result_time(rows, 0, 0);
	pg_result_free(rows);
	return err;
}

void statistics_store_welford_add(struct welford *w, double value)
{
	w->n++;
	double from_old_mean = value - w->mean;
	w->mean += from_old_mean / (double)w->n;
	w->m2 += from_old_mean * (value - w->mean);
}

double statistics_store_welford_stddev(const struct welford *w)
{
	return w->n < 2 ? 0 : sqrt(w->m2 / (double)(w->n - 1));
}
