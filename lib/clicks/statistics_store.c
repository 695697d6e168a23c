#include "lib/clicks/statistics_store.h"

#include <string.h>

#include "lib/base/mem.h"
#include "lib/base/number.h"
#include "lib/base/strbuf.h"
#include "lib/base/timestamp.h"
#include "lib/clicks/redirect_event.h"

#define COLUMNS                                                                                    \
	"link_id, visit_count, bot_count, unique_visitors, last_visited_at, latency_count, latency_mean_ms, latency_m2"
enum { COLUMN_COUNT = 8 };
/* The longest element of an array literal, a number or a time, with its comma. */
#define ELEMENT_MAX 40

/* Array literals, "{1,2}", one per column. */
struct arrays {
	struct strbuf of[COLUMN_COUNT];
};

static void add_int(struct strbuf *array, int64_t value)
{
	strbuf_add_format(array, "%lld,", (long long)value);
}

static void add_double(struct strbuf *array, double value)
{
	char text[NUMBER_TEXT_SIZE];
	number_format(value, text);
	strbuf_add_format(array, "%s,", text);
}

static void add_time(struct strbuf *array, int64_t time_us)
{
	char text[TIMESTAMP_TEXT_SIZE] = "NULL";
	if (time_us != 0)
		timestamp_format_us(time_us, text);
	strbuf_add_format(array, "%s,", text);
}

static void arrays_init(struct arrays *arrays, const struct statistics *deltas, size_t count)
{
	for (size_t i = 0; i < COLUMN_COUNT; i++) {
		strbuf_init(&arrays->of[i], 2 + count * ELEMENT_MAX);
		strbuf_add_char(&arrays->of[i], '{');
	}
	for (size_t i = 0; i < count; i++) {
		add_int(&arrays->of[0], deltas[i].link_id);
		add_int(&arrays->of[1], deltas[i].visit_count);
		add_int(&arrays->of[2], deltas[i].bot_count);
		add_int(&arrays->of[3], deltas[i].unique_visitors);
		add_time(&arrays->of[4], deltas[i].last_visited_at_us);
		add_int(&arrays->of[5], deltas[i].latency_ms.n);
		add_double(&arrays->of[6], deltas[i].latency_ms.mean);
		add_double(&arrays->of[7], deltas[i].latency_ms.m2);
	}
	/* Replace the last comma with the closing brace. */
	for (size_t i = 0; i < COLUMN_COUNT; i++)
		arrays->of[i].data[arrays->of[i].len - 1] = '}';
}

static void arrays_clear(struct arrays *arrays)
{
	for (size_t i = 0; i < COLUMN_COUNT; i++)
		strbuf_clear(&arrays->of[i]);
}

/* Latencies are merged as in welford_merge. Each expression sees the old row. */
static const char add_sql[] =
	"INSERT INTO link_statistics AS old (" COLUMNS ") "
	"SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::timestamptz[], $6::bigint[], "
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
	struct arrays arrays;
	arrays_init(&arrays, deltas, count);
	struct pg_params params = { 0 };
	for (size_t i = 0; i < COLUMN_COUNT; i++)
		pg_params_text(&params, arrays.of[i].data);
	enum err err = pg_conn_query(conn, add_sql, &params, NULL);
	arrays_clear(&arrays);
	return err;
}

static void read_row(const struct pg_result *rows, size_t row, struct statistics *out)
{
	*out = (struct statistics){
		.link_id = pg_result_int(rows, row, 0),
		.visit_count = pg_result_int(rows, row, 1),
		.bot_count = pg_result_int(rows, row, 2),
		.unique_visitors = pg_result_int(rows, row, 3),
		.last_visited_at_us = pg_result_time(rows, row, 4),
		.latency_ms.n = pg_result_int(rows, row, 5),
		.latency_ms.mean = pg_result_double(rows, row, 6),
		.latency_ms.m2 = pg_result_double(rows, row, 7),
	};
}

enum err statistics_store_get(struct pg_conn *conn, int64_t link_id, struct statistics *out)
{
	return statistics_store_get_bulk(conn, &link_id, 1, out);
}

enum err statistics_store_get_bulk(struct pg_conn *conn, const int64_t *ids, size_t count,
                                   struct statistics *out)
{
	if (count == 0)
		return OK;
	struct strbuf requested;
	strbuf_init(&requested, 2 + count * ELEMENT_MAX);
	strbuf_add_char(&requested, '{');
	for (size_t i = 0; i < count; i++)
		add_int(&requested, ids[i]);
	requested.data[requested.len - 1] = '}';
	struct pg_params params = { 0 };
	pg_params_text(&params, requested.data);
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(
		conn,
		"SELECT " COLUMNS
		" FROM unnest($1::bigint[]) WITH ORDINALITY AS requested (link_id, ordinal) "
		"LEFT JOIN link_statistics USING (link_id) ORDER BY ordinal",
		&params, &rows);
	if (err == OK && pg_result_count(rows) != count)
		err = ERR_INTERNAL;
	for (size_t i = 0; err == OK && i < count; i++)
		read_row(rows, i, &out[i]);
	pg_result_free(rows);
	strbuf_clear(&requested);
	return err;
}

enum err statistics_store_as_of(struct pg_conn *conn, int64_t *as_of_us)
{
	struct pg_result *rows = NULL;
	struct pg_params params = { 0 };
	pg_params_text(&params, REDIRECT_EVENT_TOPIC);
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
