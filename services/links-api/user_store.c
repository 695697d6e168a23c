#include "services/links-api/user_store.h"

#include <stdio.h>

#define COLUMNS "id, email, name, role, created_at"
#define PASSWORD_HASH_COLUMN 5

static enum err read_user(const struct pg_result *rows, struct user *out)
{
	out->id = pg_result_int(rows, 0, 0);
	snprintf(out->email, sizeof(out->email), "%s", pg_result_text(rows, 0, 1));
	snprintf(out->name, sizeof(out->name), "%s", pg_result_text(rows, 0, 2));
	out->created_at_us = pg_result_time(rows, 0, 4);
	return user_role_parse(pg_result_text(rows, 0, 3), &out->role);
}

/* password_hash may be NULL. */
static enum err query_one(struct pg_conn *conn, const char *sql, const struct pg_params *params, struct user *out,
                          char *password_hash)
{
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(conn, sql, params, &rows);
	if (err == OK && pg_result_count(rows) != 1)
		err = ERR_NOT_FOUND;
	if (err == OK)
		err = read_user(rows, out);
	if (err == OK && password_hash)
		snprintf(password_hash, PASSWORD_HASH_SIZE, "%s", pg_result_text(rows, 0, PASSWORD_HASH_COLUMN));
	pg_result_free(rows);
	return err;
}

enum err user_store_create(struct pg_conn *conn, const char *email, const char *name, const char *password_hash,
                           struct user *out)
{
	struct pg_params params = { 0 };
	pg_params_text(&params, email);
	pg_params_text(&params, name);
	pg_params_text(&params, password_hash);
	return query_one(conn, "INSERT INTO users (email, name, password_hash) VALUES ($1, $2, $3) RETURNING " COLUMNS,
	                 &params, out, NULL);
}

enum err user_store_get(struct pg_conn *conn, int64_t id, struct user *out)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, id);
	return query_one(conn, "SELECT " COLUMNS " FROM users WHERE id = $1", &params, out, NULL);
}

enum err user_store_find(struct pg_conn *conn, const char *email, struct user *out,
                         char password_hash[static PASSWORD_HASH_SIZE])
{
	struct pg_params params = { 0 };
	pg_params_text(&params, email);
	return query_one(conn, "SELECT " COLUMNS ", password_hash FROM users WHERE lower(email) = lower($1)", &params,
	                 out, password_hash);
}

enum err user_store_lock(struct pg_conn *conn, int64_t id)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, id);
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(conn, "SELECT id FROM users WHERE id = $1 FOR NO KEY UPDATE", &params, &rows);
	if (err == OK && pg_result_count(rows) != 1)
		err = ERR_NOT_FOUND;
	pg_result_free(rows);
	return err;
}
