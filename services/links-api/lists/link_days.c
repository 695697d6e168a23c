#include "services/links-api/lists/link_days.h"

#include <string.h>

#include "lib/postgres/sql_column.h"

static enum err query_days(struct pg_conn *conn, struct sql_column *ids, int32_t today, size_t days,
                           struct pg_result **rows)
{
	struct pg_params params = { 0 };
	enum err err = sql_column_param(ids, &params);
	if (err != OK)
		return err;
	pg_params_int(&params, (int64_t)today - (int64_t)days + 1);
	pg_params_int(&params, today);
	return pg_conn_query(
		conn,
		"SELECT array_position($1::bigint[], link_id) - 1, day - date '1970-01-01' - $2::integer, "
		"sum(humans)::bigint FROM ("
		"SELECT link_id, day, humans FROM rollup_day WHERE link_id = ANY ($1::bigint[]) "
		"AND day BETWEEN date '1970-01-01' + $2::integer AND date '1970-01-01' + $3::integer "
		"UNION ALL SELECT link_id, (hour AT TIME ZONE 'UTC')::date, humans FROM rollup_delta "
		"WHERE link_id = ANY ($1::bigint[]) "
		"AND hour >= timestamptz '1970-01-01 00:00:00+00' + $2::integer * interval '1 day' "
		"AND hour < timestamptz '1970-01-02 00:00:00+00' + $3::integer * interval '1 day'"
		") AS days GROUP BY link_id, day",
		&params, rows);
}

enum err link_days_read(struct pg_conn *conn, const int64_t *ids, size_t count, int32_t today,
                        size_t days, int64_t *humans)
{
	struct sql_column column;
	struct pg_result *rows = NULL;
	memset(humans, 0, count * days * sizeof(*humans));
	sql_column_init_for(&column, SQL_COLUMN_INT8, count, sizeof(*ids));
	for (size_t i = 0; i < count; i++)
		sql_column_add_int(&column, ids[i]);
	enum err err = count > 0 ? query_days(conn, &column, today, days, &rows) : OK;
	for (size_t i = 0; err == OK && rows && i < pg_result_count(rows); i++) {
		size_t link = (size_t)pg_result_int(rows, i, 0);
		humans[link * days + (size_t)pg_result_int(rows, i, 1)] = pg_result_int(rows, i, 2);
	}
	pg_result_free(rows);
	sql_column_clear(&column);
	return err;
}
