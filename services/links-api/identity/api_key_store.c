#include "services/links-api/identity/api_key_store.h"

#include <stdio.h>

#include "lib/base/clock.h"
#include "services/links-api/identity/scope.h"

#define COLUMNS                                                                                    \
	"id, user_id, array_to_string(scopes, ','), name, hint, expires_at, last_used_at, created_at"
#define USE_RESOLUTION_US (60 * CLOCK_US_PER_S)

static void read_row(const struct pg_result *rows, size_t row, struct api_key *out)
{
	out->id = pg_result_int(rows, row, 0);
	out->user_id = pg_result_int(rows, row, 1);
	out->scopes = scope_split(pg_result_text(rows, row, 2));
	snprintf(out->name, sizeof(out->name), "%s", pg_result_text(rows, row, 3));
	snprintf(out->hint, sizeof(out->hint), "%s", pg_result_text(rows, row, 4));
	out->expires_at_us = pg_result_time(rows, row, 5);
	out->last_used_at_us = pg_result_time(rows, row, 6);
	out->created_at_us = pg_result_time(rows, row, 7);
}

static enum err query_one(struct pg_conn *conn, const char *sql, const struct pg_params *params,
                          struct api_key *out)
{
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(conn, sql, params, &rows);
	if (err == OK && pg_result_count(rows) != 1)
		err = ERR_NOT_FOUND;
	if (err == OK)
		read_row(rows, 0, out);
	pg_result_free(rows);
	return err;
}

/* The condition on the old time lets one of several requests write: once a minute. */
static enum err mark_used(struct pg_conn *conn, const struct api_key *key, int64_t now_us)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, key->id);
	pg_params_time(&params, now_us);
	pg_params_time_or_null(&params, key->last_used_at_us);
	return pg_conn_query(conn,
	                     "UPDATE api_keys SET last_used_at = $2 "
	                     "WHERE id = $1 AND last_used_at IS NOT DISTINCT FROM $3",
	                     &params, NULL);
}

enum err api_key_store_use(struct pg_conn *conn, const uint8_t hash[static DIGEST_SIZE],
                           int64_t now_us, struct api_key *out)
{
	struct pg_params params = { 0 };
	struct api_key key;
	pg_params_bytes(&params, hash, DIGEST_SIZE);
	enum err err = query_one(conn, "SELECT " COLUMNS " FROM api_keys WHERE secret_hash = $1",
	                         &params, &key);
	if (err == OK && key.expires_at_us && key.expires_at_us <= now_us)
		err = ERR_NOT_FOUND;
	if (err == OK && now_us - key.last_used_at_us >= USE_RESOLUTION_US)
		err = mark_used(conn, &key, now_us);
	if (err == OK)
		*out = key;
	return err;
}

enum err api_key_store_create(struct pg_conn *conn, const struct api_key *wanted,
                              const struct secret *secret, struct api_key *out)
{
	char scopes[SCOPE_LIST_SIZE], hint[API_KEY_HINT_LENGTH + 1];
	int64_t count = 0;
	struct pg_params owner = { 0 };
	pg_params_int(&owner, wanted->user_id);
	enum err err = pg_conn_query_int(conn, "SELECT count(*) FROM api_keys WHERE user_id = $1",
	                                 &owner, &count);
	if (err != OK)
		return err;
	if (count >= API_KEY_STORE_KEYS_MAX)
		return ERR_INVALID;
	struct pg_params params = { 0 };
	scope_join(wanted->scopes, scopes);
	snprintf(hint, sizeof(hint), "%.*s", API_KEY_HINT_LENGTH, secret->text);
	pg_params_int(&params, wanted->user_id);
	pg_params_text(&params, wanted->name);
	pg_params_text(&params, scopes);
	pg_params_text(&params, hint);
	pg_params_bytes(&params, secret->hash, DIGEST_SIZE);
	pg_params_time_or_null(&params, wanted->expires_at_us);
	return query_one(
		conn,
		"INSERT INTO api_keys (user_id, name, scopes, hint, secret_hash, expires_at) "
		"VALUES ($1, $2, string_to_array($3, ','), $4, $5, $6) RETURNING " COLUMNS,
		&params, out);
}

enum err api_key_store_list(struct pg_conn *conn, int64_t user_id, struct api_key *keys,
                            size_t *count)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, user_id);
	pg_params_int(&params, API_KEY_STORE_KEYS_MAX);
	enum err err = pg_conn_query(conn,
	                             "SELECT " COLUMNS
	                             " FROM api_keys WHERE user_id = $1 ORDER BY id DESC LIMIT $2",
	                             &params, &rows);
	if (err == OK) {
		*count = pg_result_count(rows);
		for (size_t i = 0; i < *count; i++)
			read_row(rows, i, &keys[i]);
	}
	pg_result_free(rows);
	return err;
}

enum err api_key_store_delete(struct pg_conn *conn, int64_t user_id, int64_t id)
{
	struct pg_params params = { 0 };
	int64_t deleted;
	pg_params_int(&params, id);
	pg_params_int(&params, user_id);
	return pg_conn_query_int(conn,
	                         "DELETE FROM api_keys WHERE id = $1 AND user_id = $2 RETURNING id",
	                         &params, &deleted);
}

enum err api_key_store_delete_all(struct pg_conn *conn, int64_t user_id)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, user_id);
	return pg_conn_query(conn, "DELETE FROM api_keys WHERE user_id = $1", &params, NULL);
}
