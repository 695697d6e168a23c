#include "services/links-api/identity/oidc_store.h"

#include "services/links-api/identity/oidc_login.h"

/* Longer than a login lives on any clock. */
#define USED_LOGIN_S (2 * OIDC_LOGIN_LIFETIME_S)

/* otherwise: if it changed no row. */
static enum err change_one(struct pg_conn *conn, const char *sql, const struct pg_params *params,
                           enum err otherwise)
{
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(conn, sql, params, &rows);
	if (err == OK && pg_result_changed(rows) == 0)
		err = otherwise;
	pg_result_free(rows);
	return err;
}

enum err oidc_store_use_login(struct pg_conn *conn, const uint8_t hash[static DIGEST_SIZE])
{
	struct pg_params params = { 0 };
	pg_params_bytes(&params, hash, DIGEST_SIZE);
	pg_params_int(&params, USED_LOGIN_S);
	return change_one(
		conn,
		"WITH expired AS (DELETE FROM oidc_logins WHERE login_hash IN (SELECT login_hash "
		"FROM oidc_logins WHERE expires_at < clock_timestamp() ORDER BY expires_at LIMIT 100 "
		"FOR UPDATE SKIP LOCKED)) INSERT INTO oidc_logins (login_hash, expires_at) VALUES "
		"($1, clock_timestamp() + $2::bigint * interval '1 second') ON CONFLICT DO NOTHING",
		&params, ERR_CONFLICT);
}

static enum err read_identity(struct pg_conn *conn, const char *sql, const struct pg_params *params,
                              struct oidc_identity *out)
{
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(conn, sql, params, &rows);
	if (err == OK && pg_result_count(rows) != 1)
		err = ERR_NOT_FOUND;
	if (err == OK)
		*out = (struct oidc_identity){ .id = pg_result_int(rows, 0, 0),
			                       .user_id = pg_result_int(rows, 0, 1) };
	pg_result_free(rows);
	return err;
}

enum err oidc_store_find(struct pg_conn *conn, const struct oidc_provider *provider,
                         const char *subject, struct oidc_identity *out)
{
	struct pg_params params = { 0 };
	pg_params_text(&params, provider->issuer);
	pg_params_text(&params, subject);
	pg_params_text(&params, provider->id);
	return read_identity(
		conn,
		"UPDATE identities SET last_used_at = clock_timestamp(), provider = $3 "
		"WHERE issuer = $1 AND subject = $2 RETURNING id, user_id",
		&params, out);
}

enum err oidc_store_add(struct pg_conn *conn, const struct oidc_provider *provider,
                        const char *subject, int64_t user_id, struct oidc_identity *out)
{
	struct pg_params params = { 0 };
	pg_params_text(&params, provider->issuer);
	pg_params_text(&params, subject);
	pg_params_text(&params, provider->id);
	pg_params_int(&params, user_id);
	enum err err = read_identity(
		conn,
		"INSERT INTO identities (issuer, subject, provider, user_id) VALUES ($1, $2, $3, $4) "
		"ON CONFLICT (issuer, subject) DO NOTHING RETURNING id, user_id",
		&params, out);
	return err == ERR_NOT_FOUND ? ERR_CONFLICT : err;
}

enum err oidc_store_find_session(struct pg_conn *conn, int64_t session_id, int64_t user_id)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, session_id);
	pg_params_int(&params, user_id);
	return pg_conn_query_int(
		conn,
		"SELECT s.id FROM sessions s JOIN users u ON u.id = s.user_id "
		"WHERE s.id = $1 AND u.id = $2 AND NOT u.blocked AND u.deleted_at IS NULL "
		"FOR NO KEY UPDATE OF u",
		&params, &session_id);
}
