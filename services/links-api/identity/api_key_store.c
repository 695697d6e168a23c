#include "services/links-api/identity/api_key_store.h"

#include <stdio.h>

#include "lib/base/clock.h"
#include "services/links-api/identity/membership.h"

#define COLUMNS                                                                                    \
	"k.id, k.workspace_id, array_to_string(k.scopes, ','), k.name, k.hint, k.expires_at, "     \
	"k.last_used_at, k.created_at, k.created_by, array_to_string(k.tags, E'\\x1f'), "          \
	"k.made_by_key, CASE WHEN k.old_secret_until > clock_timestamp() THEN k.old_secret_until END"
#define TAGS_FROM_TEXT(parameter) "string_to_array(" parameter ", E'\\x1f')"
#define USE_RESOLUTION_US (60 * CLOCK_US_PER_S)
/* After COLUMNS. */
enum { MAKER_ROLE = 12, MAKER_IS_BLOCKED, MAKER_IS_ADMIN, MAKER_EMAIL };

static void read_row(const struct pg_result *rows, size_t row, struct api_key *out)
{
	out->id = pg_result_int(rows, row, 0);
	out->workspace_id = pg_result_int(rows, row, 1);
	out->scopes = api_key_split_scopes(pg_result_text(rows, row, 2));
	snprintf(out->name, sizeof(out->name), "%s", pg_result_text(rows, row, 3));
	snprintf(out->hint, sizeof(out->hint), "%s", pg_result_text(rows, row, 4));
	out->expires_at_us = pg_result_time(rows, row, 5);
	out->last_used_at_us = pg_result_time(rows, row, 6);
	out->created_at_us = pg_result_time(rows, row, 7);
	out->created_by = pg_result_int(rows, row, 8);
	snprintf(out->tags, sizeof(out->tags), "%s", pg_result_text(rows, row, 9));
	out->made_by_key = pg_result_int(rows, row, 10);
	out->old_secret_until_us = pg_result_time(rows, row, 11);
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
                           int64_t now_us, struct api_key *out, bool *is_expired)
{
	struct pg_params params = { 0 };
	struct api_key key;
	pg_params_bytes(&params, hash, DIGEST_SIZE);
	enum err err =
		query_one(conn,
	                  "SELECT " COLUMNS " FROM api_keys k WHERE k.secret_hash = $1 "
	                  "OR (k.old_secret_hash = $1 AND k.old_secret_until > clock_timestamp())",
	                  &params, &key);
	*is_expired = err == OK && key.expires_at_us && key.expires_at_us <= now_us;
	if (*is_expired)
		err = ERR_NOT_FOUND;
	if (err == OK && now_us - key.last_used_at_us >= USE_RESOLUTION_US)
		err = mark_used(conn, &key, now_us);
	if (err == OK)
		*out = key;
	return err;
}

enum err api_key_store_get(struct pg_conn *conn, int64_t id, int64_t workspace_id,
                           struct api_key *out)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, id);
	pg_params_int(&params, workspace_id);
	return query_one(
		conn, "SELECT " COLUMNS " FROM api_keys k WHERE k.id = $1 AND k.workspace_id = $2",
		&params, out);
}

static void write_hint(const struct secret *secret, char out[static API_KEY_HINT_LENGTH + 1])
{
	snprintf(out, API_KEY_HINT_LENGTH + 1, "%.*s", API_KEY_HINT_LENGTH, secret->text);
}

enum err api_key_store_insert(struct pg_conn *conn, struct api_key *key, int64_t sponsor_id,
                              const struct secret *secret)
{
	char scopes[SCOPE_LIST_SIZE];
	int64_t count = 0;
	struct pg_params sponsor = { 0 };
	pg_params_int(&sponsor, sponsor_id);
	enum err err = pg_conn_query_int(conn,
	                                 "SELECT count(*) FROM api_keys k JOIN workspaces w "
	                                 "ON w.id = k.workspace_id WHERE w.sponsor_id = $1",
	                                 &sponsor, &count);
	if (err != OK || count >= API_KEY_KEYS_MAX)
		return err == OK ? ERR_INVALID : err;
	struct pg_params params = { 0 };
	api_key_join_scopes(key->scopes, scopes);
	write_hint(secret, key->hint);
	pg_params_int(&params, key->workspace_id);
	pg_params_text(&params, key->name);
	pg_params_text(&params, scopes);
	pg_params_text(&params, key->hint);
	pg_params_bytes(&params, secret->hash, DIGEST_SIZE);
	pg_params_time_or_null(&params, key->expires_at_us);
	pg_params_int(&params, key->created_by);
	pg_params_text(&params, key->tags);
	pg_params_int(&params, key->made_by_key);
	return query_one(
		conn,
		"INSERT INTO api_keys AS k (workspace_id, name, scopes, hint, secret_hash, "
		"expires_at, created_by, tags, made_by_key) "
		"VALUES ($1, $2, string_to_array($3, ','), $4, $5, $6, $7, " TAGS_FROM_TEXT(
			"$8") ", NULLIF($9::bigint, 0)) RETURNING " COLUMNS,
		&params, key);
}

/* The keys that key $1 made, and those that they made. */
#define MADE                                                                                       \
	"WITH RECURSIVE made AS (SELECT id FROM api_keys WHERE made_by_key = $1 "                  \
	"UNION SELECT k.id FROM api_keys k JOIN made ON k.made_by_key = made.id) "

static enum err bound_made(struct pg_conn *conn, int64_t id)
{
	static const char *const statements[] = {
		MADE
		"DELETE FROM api_keys k USING made, api_keys p WHERE k.id = made.id AND p.id = $1 "
		"AND NOT (k.scopes <@ p.scopes "
		"AND (p.tags = '{}' OR (k.tags <> '{}' AND k.tags <@ p.tags)))",
		MADE "UPDATE api_keys k SET expires_at = LEAST(k.expires_at, p.expires_at) "
		     "FROM made, api_keys p WHERE k.id = made.id AND p.id = $1",
	};
	enum err err = OK;
	for (size_t i = 0; err == OK && i < 2; i++) {
		struct pg_params params = { 0 };
		pg_params_int(&params, id);
		err = pg_conn_query(conn, statements[i], &params, NULL);
	}
	return err;
}

enum err api_key_store_update(struct pg_conn *conn, const struct api_key *key)
{
	char scopes[SCOPE_LIST_SIZE];
	struct pg_params params = { 0 };
	api_key_join_scopes(key->scopes, scopes);
	pg_params_int(&params, key->id);
	pg_params_text(&params, key->name);
	pg_params_text(&params, scopes);
	pg_params_text(&params, key->tags);
	pg_params_time_or_null(&params, key->expires_at_us);
	pg_params_int(&params, key->created_by);
	enum err err =
		pg_conn_query(conn,
	                      "UPDATE api_keys SET name = $2, scopes = string_to_array($3, ','), "
	                      "tags = " TAGS_FROM_TEXT("$4") ", expires_at = $5, "
	                                                     "created_by = $6 WHERE id = $1",
	                      &params, NULL);
	return err == OK ? bound_made(conn, key->id) : err;
}

enum err api_key_store_rotate(struct pg_conn *conn, struct api_key *key,
                              const struct secret *secret, int64_t overlap_s)
{
	struct pg_params params = { 0 };
	write_hint(secret, key->hint);
	pg_params_int(&params, key->id);
	pg_params_bytes(&params, secret->hash, DIGEST_SIZE);
	pg_params_text(&params, key->hint);
	pg_params_int(&params, overlap_s);
	return query_one(conn,
	                 "UPDATE api_keys k SET secret_hash = $2, hint = $3, "
	                 "old_secret_hash = CASE WHEN $4::bigint > 0 THEN secret_hash END, "
	                 "old_secret_until = CASE WHEN $4::bigint > 0 THEN "
	                 "clock_timestamp() + $4::bigint * interval '1 second' END "
	                 "WHERE id = $1 RETURNING " COLUMNS,
	                 &params, key);
}

enum err api_key_store_delete(struct pg_conn *conn, int64_t id)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, id);
	return pg_conn_query(conn, "DELETE FROM api_keys WHERE id = $1", &params, NULL);
}

enum err api_key_store_list(struct pg_conn *conn, int64_t workspace_id, int64_t maker_id,
                            int64_t id, const char *tags, int64_t now_us, struct json *array)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, workspace_id);
	pg_params_int(&params, maker_id);
	pg_params_int(&params, id);
	pg_params_int(&params, API_KEY_KEYS_MAX);
	enum err err = pg_conn_query(
		conn,
		"SELECT " COLUMNS
		", m.role, u.blocked OR u.deleted_at IS NOT NULL, u.role = 'admin', "
		"u.email FROM api_keys k JOIN users u ON u.id = k.created_by "
		"LEFT JOIN members m ON m.workspace_id = k.workspace_id AND m.user_id = k.created_by "
		"WHERE k.workspace_id = $1 AND $2::bigint IN (0, k.created_by) AND $3::bigint IN (0, k.id) "
		"ORDER BY k.id DESC LIMIT $4",
		&params, &rows);
	for (size_t i = 0; err == OK && i < pg_result_count(rows); i++) {
		struct api_key key;
		struct api_key_maker maker = { .is_blocked =
			                               pg_result_bool(rows, i, MAKER_IS_BLOCKED),
			                       .is_admin =
			                               pg_result_bool(rows, i, MAKER_IS_ADMIN) };
		read_row(rows, i, &key);
		if (!pg_result_is_null(rows, i, MAKER_EMAIL))
			maker.email = pg_result_text(rows, i, MAKER_EMAIL);
		if (membership_parse_role(pg_result_text(rows, i, MAKER_ROLE), &maker.role) != OK)
			maker.role = WORKSPACE_STRANGER; /* no row: no member any more */
		if (api_key_is_limited_within(key.tags, tags ? tags : ""))
			json_append(array, api_key_json(&key, &maker, now_us));
	}
	pg_result_free(rows);
	return err;
}
