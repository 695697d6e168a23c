#include "lib/links/link_check_store.h"

#include <stdio.h>

enum err link_check_store_claim(struct pg_conn *conn, int64_t limit, int64_t lease_s,
                                struct link_check_due *out, size_t *count)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, limit);
	pg_params_int(&params, lease_s);
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(
		conn,
		"WITH due AS (SELECT id AS due_id FROM links WHERE state = 'ACTIVE' "
		"AND next_check_at <= statement_timestamp() "
		"AND (expires_at IS NULL OR expires_at > statement_timestamp()) "
		"ORDER BY next_check_at LIMIT $1 FOR UPDATE SKIP LOCKED) "
		"UPDATE links SET next_check_at = clock_timestamp() + $2::bigint * interval '1 second' "
		"FROM due WHERE id = due_id RETURNING id, failed_checks, original_url",
		&params, &rows);
	for (size_t i = 0; err == OK && i < pg_result_count(rows); i++) {
		out[i].link_id = pg_result_int(rows, i, 0);
		out[i].failures = pg_result_int(rows, i, 1);
		snprintf(out[i].url, sizeof(out[i].url), "%s", pg_result_text(rows, i, 2));
	}
	if (err == OK)
		*count = pg_result_count(rows);
	pg_result_free(rows);
	return err;
}

enum err link_check_store_write(struct pg_conn *conn, const struct link_check_due *due, int status,
                                int64_t failures, int64_t next_s)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, due->link_id);
	pg_params_text(&params, due->url);
	if (status == LINK_CHECK_NEVER)
		pg_params_null(&params);
	else
		pg_params_int(&params, status);
	pg_params_int(&params, failures);
	pg_params_int(&params, next_s);
	return pg_conn_query(
		conn,
		"UPDATE links SET destination_status = $3::smallint, "
		"last_checked_at = CASE WHEN $3::smallint IS NOT NULL THEN clock_timestamp() END, "
		"failed_checks = $4, "
		"next_check_at = clock_timestamp() + $5::bigint * interval '1 second' "
		"WHERE id = $1 AND original_url = $2",
		&params, NULL);
}

enum err link_check_store_postpone(struct pg_conn *conn, const struct link_check_due *due,
                                   int64_t delay_ms)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, due->link_id);
	pg_params_text(&params, due->url);
	pg_params_int(&params, delay_ms);
	return pg_conn_query(
		conn,
		"UPDATE links SET next_check_at = clock_timestamp() + $3::bigint * interval '1 ms' "
		"WHERE id = $1 AND original_url = $2",
		&params, NULL);
}
