#include "services/links-api/identity/session_store.h"

#include <stdio.h>

#define SECONDS(parameter) parameter "::bigint * interval '1 second'"
/* $1: SESSION_STORE_IDLE_S, $2: SESSION_STORE_LIFETIME_S. */
#define EXPIRES_AT "LEAST(last_used_at + " SECONDS("$1") ", created_at + " SECONDS("$2") ")"
#define SELECT_VALID                                                                                \
	"SELECT id, user_id, user_agent, created_at, last_used_at, " EXPIRES_AT                     \
	", last_used_at <= clock_timestamp() - interval '1 minute' FROM sessions WHERE " EXPIRES_AT \
	" > clock_timestamp() AND "

static void add_times(struct pg_params *params)
{
	pg_params_int(params, SESSION_STORE_IDLE_S);
	pg_params_int(params, SESSION_STORE_LIFETIME_S);
}

static void read_row(const struct pg_result *rows, size_t row, struct session *out)
{
	out->id = pg_result_int(rows, row, 0);
	out->user_id = pg_result_int(rows, row, 1);
	snprintf(out->user_agent, sizeof(out->user_agent), "%s", pg_result_text(rows, row, 2));
	out->created_at_us = pg_result_time(rows, row, 3);
	out->last_used_at_us = pg_result_time(rows, row, 4);
	out->expires_at_us = pg_result_time(rows, row, 5);
	out->is_use_due = pg_result_bool(rows, row, 6);
}

/* Of several concurrent requests one writes: a busy session costs one write a minute. */
static enum err mark_used(struct pg_conn *conn, int64_t id)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, id);
	return pg_conn_query(conn,
	                     "UPDATE sessions SET last_used_at = clock_timestamp() WHERE id = $1 "
	                     "AND last_used_at <= clock_timestamp() - interval '1 minute'",
	                     &params, NULL);
}

static enum err find(struct pg_conn *conn, const uint8_t hash[static DIGEST_SIZE],
                     struct session *out)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	add_times(&params);
	pg_params_bytes(&params, hash, DIGEST_SIZE);
	enum err err = pg_conn_query(conn, SELECT_VALID "secret_hash = $3", &params, &rows);
	if (err == OK && pg_result_count(rows) != 1)
		err = ERR_NOT_FOUND;
	if (err == OK)
		read_row(rows, 0, out);
	pg_result_free(rows);
	return err;
}

enum err session_store_use(struct pg_conn *conn, const uint8_t hash[static DIGEST_SIZE],
                           struct session *out)
{
	struct session session;
	enum err err = find(conn, hash, &session);
	if (err == OK && session.is_use_due)
		err = mark_used(conn, session.id);
	if (err == OK)
		*out = session;
	return err;
}

enum err session_store_create(struct pg_conn *conn, const struct session *wanted,
                              const uint8_t hash[static DIGEST_SIZE])
{
	struct pg_params limit = { 0 };
	pg_params_int(&limit, wanted->user_id);
	pg_params_int(&limit, SESSION_STORE_SESSIONS_MAX - 1);
	enum err err = pg_conn_query(
		conn,
		"DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE user_id = $1 "
		"ORDER BY last_used_at DESC, id DESC OFFSET $2)",
		&limit, NULL);
	if (err != OK)
		return err;
	struct pg_params params = { 0 };
	pg_params_int(&params, wanted->user_id);
	pg_params_bytes(&params, hash, DIGEST_SIZE);
	pg_params_text(&params, wanted->user_agent);
	return pg_conn_query(
		conn, "INSERT INTO sessions (user_id, secret_hash, user_agent) VALUES ($1, $2, $3)",
		&params, NULL);
}

enum err session_store_list(struct pg_conn *conn, int64_t user_id, struct session *sessions,
                            size_t *count)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	add_times(&params);
	pg_params_int(&params, user_id);
	pg_params_int(&params, SESSION_STORE_SESSIONS_MAX);
	enum err err = pg_conn_query(conn, SELECT_VALID "user_id = $3 ORDER BY id DESC LIMIT $4",
	                             &params, &rows);
	if (err == OK) {
		*count = pg_result_count(rows);
		for (size_t i = 0; i < *count; i++)
			read_row(rows, i, &sessions[i]);
	}
	pg_result_free(rows);
	return err;
}

enum err session_store_delete(struct pg_conn *conn, int64_t user_id, int64_t id)
{
	struct pg_params params = { 0 };
	int64_t deleted;
	pg_params_int(&params, id);
	pg_params_int(&params, user_id);
	return pg_conn_query_int(conn,
	                         "DELETE FROM sessions WHERE id = $1 AND user_id = $2 RETURNING id",
	                         &params, &deleted);
}

enum err session_store_delete_by_hash(struct pg_conn *conn, const uint8_t hash[static DIGEST_SIZE])
{
	struct pg_params params = { 0 };
	pg_params_bytes(&params, hash, DIGEST_SIZE);
	return pg_conn_query(conn, "DELETE FROM sessions WHERE secret_hash = $1", &params, NULL);
}

enum err session_store_delete_all(struct pg_conn *conn, int64_t user_id)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, user_id);
	return pg_conn_query(conn, "DELETE FROM sessions WHERE user_id = $1", &params, NULL);
}
