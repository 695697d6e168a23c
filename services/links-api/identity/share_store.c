#include "services/links-api/identity/share_store.h"

#include <stdio.h>

#define ACTIVE                                                                                     \
	"((s.expires_at IS NULL OR s.expires_at > clock_timestamp()) AND NOT u.blocked AND "       \
	"u.deleted_at IS NULL AND (s.link_id IS NULL OR l.state <> 'DELETED'))"
#define SELECT                                                                                     \
	"SELECT s.id, s.owner_id, s.link_id, s.tag, s.title, s.password_hash IS NOT NULL, " ACTIVE \
	", s.expires_at, s.last_used_at, s.created_at, l.slug, l.title, s.password_hash "          \
	"FROM shares s JOIN users u ON u.id = s.owner_id LEFT JOIN links l ON l.id = s.link_id "
#define PASSWORD_HASH_COLUMN 12

static void read_row(const struct pg_result *rows, size_t row, struct share *out)
{
	out->id = pg_result_int(rows, row, 0);
	out->owner_id = pg_result_int(rows, row, 1);
	out->link_id = pg_result_int(rows, row, 2);
	snprintf(out->tag, sizeof(out->tag), "%s", pg_result_text(rows, row, 3));
	snprintf(out->title, sizeof(out->title), "%s", pg_result_text(rows, row, 4));
	out->has_password = pg_result_bool(rows, row, 5);
	out->is_active = pg_result_bool(rows, row, 6);
	out->expires_at_us = pg_result_time(rows, row, 7);
	out->last_used_at_us = pg_result_time(rows, row, 8);
	out->created_at_us = pg_result_time(rows, row, 9);
	snprintf(out->slug, sizeof(out->slug), "%s", pg_result_text(rows, row, 10));
	snprintf(out->link_title, sizeof(out->link_title), "%s", pg_result_text(rows, row, 11));
}

static enum err query_one(struct pg_conn *conn, const char *sql, const struct pg_params *params,
                          struct share *out, char password_hash[static PASSWORD_HASH_SIZE])
{
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(conn, sql, params, &rows);
	if (err == OK && pg_result_count(rows) != 1)
		err = ERR_NOT_FOUND;
	if (err == OK) {
		read_row(rows, 0, out);
		snprintf(password_hash, PASSWORD_HASH_SIZE, "%s",
		         pg_result_text(rows, 0, PASSWORD_HASH_COLUMN));
	}
	pg_result_free(rows);
	return err;
}

static enum err query_by_id(struct pg_conn *conn, const char *sql, int64_t id, struct share *out)
{
	char password_hash[PASSWORD_HASH_SIZE];
	struct pg_params params = { 0 };
	pg_params_int(&params, id);
	return query_one(conn, sql, &params, out, password_hash);
}

static enum err insert(struct pg_conn *conn, const struct share *wanted, const struct secret *token,
                       const char *password_hash, int64_t *id)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, wanted->owner_id);
	if (wanted->link_id)
		pg_params_int(&params, wanted->link_id);
	else
		pg_params_null(&params);
	pg_params_text(&params, wanted->link_id ? NULL : wanted->tag);
	pg_params_text(&params, wanted->title);
	pg_params_bytes(&params, token->hash, DIGEST_SIZE);
	pg_params_text(&params, *password_hash ? password_hash : NULL);
	pg_params_time_or_null(&params, wanted->expires_at_us);
	return pg_conn_query_int(
		conn,
		"INSERT INTO shares "
		"(owner_id, link_id, tag, title, token_hash, password_hash, expires_at) "
		"VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id",
		&params, id);
}

enum err share_store_create(struct pg_conn *conn, const struct share *wanted,
                            const struct secret *token, const char *password_hash,
                            struct share *out)
{
	int64_t count = 0, id = 0;
	struct pg_params owner = { 0 };
	pg_params_int(&owner, wanted->owner_id);
	enum err err = pg_conn_query_int(conn, "SELECT count(*) FROM shares WHERE owner_id = $1",
	                                 &owner, &count);
	if (err == OK && count >= SHARE_STORE_SHARES_MAX)
		err = ERR_INVALID;
	if (err == OK)
		err = insert(conn, wanted, token, password_hash, &id);
	return err == OK ? query_by_id(conn, SELECT "WHERE s.id = $1", id, out) : err;
}

enum err share_store_list(struct pg_conn *conn, int64_t owner_id, struct share *shares,
                          size_t *count)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, owner_id);
	pg_params_int(&params, SHARE_STORE_SHARES_MAX);
	enum err err = pg_conn_query(
		conn, SELECT "WHERE s.owner_id = $1 ORDER BY s.id DESC LIMIT $2", &params, &rows);
	if (err == OK) {
		*count = pg_result_count(rows);
		for (size_t i = 0; i < *count; i++)
			read_row(rows, i, &shares[i]);
	}
	pg_result_free(rows);
	return err;
}

enum err share_store_delete(struct pg_conn *conn, int64_t owner_id, int64_t id, int64_t *link_id)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, id);
	pg_params_int(&params, owner_id);
	enum err err = pg_conn_query(conn,
	                             "DELETE FROM shares WHERE id = $1 AND owner_id = $2 "
	                             "RETURNING COALESCE(link_id, 0)",
	                             &params, &rows);
	if (err == OK && pg_result_count(rows) != 1)
		err = ERR_NOT_FOUND;
	if (err == OK)
		*link_id = pg_result_int(rows, 0, 0);
	pg_result_free(rows);
	return err;
}

enum err share_store_delete_all(struct pg_conn *conn, int64_t owner_id)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, owner_id);
	return pg_conn_query(conn, "DELETE FROM shares WHERE owner_id = $1", &params, NULL);
}

enum err share_store_find(struct pg_conn *conn, const uint8_t token_hash[static DIGEST_SIZE],
                          struct share *out, char password_hash[static PASSWORD_HASH_SIZE])
{
	struct pg_params params = { 0 };
	pg_params_bytes(&params, token_hash, DIGEST_SIZE);
	return query_one(conn, SELECT "WHERE s.token_hash = $1 AND " ACTIVE, &params, out,
	                 password_hash);
}

enum err share_store_get(struct pg_conn *conn, int64_t id, struct share *out)
{
	return query_by_id(conn, SELECT "WHERE s.id = $1 AND " ACTIVE, id, out);
}

/* Of several concurrent requests one writes: a busy share costs one write a minute. */
enum err share_store_mark_used(struct pg_conn *conn, int64_t id)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, id);
	return pg_conn_query(conn,
	                     "UPDATE shares SET last_used_at = clock_timestamp() WHERE id = $1 AND "
	                     "(last_used_at IS NULL OR last_used_at <= "
	                     "clock_timestamp() - interval '1 minute')",
	                     &params, NULL);
}
