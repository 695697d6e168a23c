#include "lib/links/link_check_store.h"

#include <stdio.h>

#include "lib/base/strbuf.h"

/* The longest ID with its comma. */
#define ID_MAX 24

static void read_check(const struct pg_result *rows, size_t row, struct link_check *out)
{
	out->status = pg_result_is_null(rows, row, 0) ? LINK_CHECK_NEVER
	                                              : (int)pg_result_int(rows, row, 0);
	out->last_checked_at_us = pg_result_time(rows, row, 1);
	out->purge_at_us = pg_result_time(rows, row, 2);
}

enum err link_check_store_get_bulk(struct pg_conn *conn, const int64_t *ids, size_t count,
                                   struct link_check *out)
{
	if (count == 0)
		return OK;
	struct strbuf requested;
	strbuf_init(&requested, 2 + count * ID_MAX);
	for (size_t i = 0; i < count; i++)
		strbuf_add_format(&requested, "%c%lld", i == 0 ? '{' : ',', (long long)ids[i]);
	strbuf_add_char(&requested, '}');
	struct pg_params params = { 0 };
	pg_params_text(&params, requested.data);
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(
		conn,
		"SELECT destination_status, last_checked_at, interval '1 s' * CASE state WHEN 'DELETED' "
		"THEN deleted_s ELSE CASE link_type WHEN 'TEMPORARY' THEN temporary_s ELSE expired_s END END + "
		"CASE WHEN state IN ('DELETED', 'EXPIRED') THEN state_since WHEN state = 'ACTIVE' "
		"AND expires_at <= clock_timestamp() THEN expires_at END "
		"FROM unnest($1::bigint[]) WITH ORDINALITY AS requested (id, ordinal) "
		"LEFT JOIN links USING (id) LEFT JOIN link_keeping ON true ORDER BY ordinal",
		&params, &rows);
	for (size_t i = 0; err == OK && i < count; i++)
		read_check(rows, i, &out[i]);
	pg_result_free(rows);
	strbuf_clear(&requested);
	return err;
}

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
