/* By which providers a person logs in: a list, and the end of each. */
#include "lib/postgres/pg_pool.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/audit_store.h"
#include "services/links-api/identity/user_store.h"

static struct json *row_json(const struct request *r, const struct pg_result *rows, size_t row)
{
	(void)r;
	struct json *identity = json_new_object();
	json_set_int(identity, "id", pg_result_int(rows, row, 0));
	json_set_text(identity, "provider", pg_result_text(rows, row, 1));
	json_set_time(identity, "created_at", pg_result_time(rows, row, 2));
	json_set_time(identity, "last_used_at", pg_result_time(rows, row, 3));
	return identity;
}

enum http_progress oidc_identity_handlers_list(void *ctx, struct http_exchange *x)
{
	(void)x;
	const struct request *r = ctx;
	struct pg_params params = { 0 };
	pg_params_int(&params, r->user_id);
	return response_rows(ctx, "identities",
	                     "SELECT id, provider, created_at, last_used_at FROM identities "
	                     "WHERE user_id = $1 ORDER BY id LIMIT 100",
	                     &params, row_json);
}

struct untie {
	const struct request *request;
	/* Nothing else would let the person in. */
	bool is_last;
};

/* ERR_CONFLICT: is_last. ERR_NOT_FOUND: the person has no such identity. */
static enum err check(struct untie *u, struct pg_conn *conn)
{
	const struct request *r = u->request;
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, request_path_id(r));
	pg_params_int(&params, r->user_id);
	enum err err = pg_conn_query(
		conn,
		"SELECT u.password_hash IS NOT NULL, EXISTS (SELECT FROM identities o "
		"WHERE o.user_id = u.id AND o.id <> i.id) FROM identities i "
		"JOIN users u ON u.id = i.user_id WHERE i.id = $1 AND i.user_id = $2",
		&params, &rows);
	if (err == OK && pg_result_count(rows) != 1)
		err = ERR_NOT_FOUND;
	if (err == OK) {
		bool has_password = pg_result_bool(rows, 0, 0) &&
		                    (r->api->config->password_login || r->has_admin_role);
		u->is_last = !has_password && !pg_result_bool(rows, 0, 1);
		err = u->is_last ? ERR_CONFLICT : OK;
	}
	pg_result_free(rows);
	return err;
}

/* With what its groups gave, and the other sessions that began by its provider. */
static enum err remove_identity(void *ctx, struct pg_conn *conn)
{
	struct untie *u = ctx;
	const struct request *r = u->request;
	struct pg_params params = { 0 };
	enum err err = user_store_lock(conn, r->user_id);
	if (err == OK)
		err = check(u, conn);
	pg_params_int(&params, request_path_id(r));
	pg_params_int(&params, r->session_id);
	if (err == OK)
		err = pg_conn_query(
			conn,
			"WITH ended AS (DELETE FROM identities WHERE id = $1 "
			"RETURNING user_id, provider, gives_admin), "
			"demoted AS (UPDATE users SET role = 'user', updated_at = clock_timestamp() "
			"FROM ended WHERE users.id = ended.user_id AND gives_admin) "
			"DELETE FROM sessions USING ended WHERE sessions.user_id = ended.user_id "
			"AND sessions.provider = ended.provider AND sessions.id <> $2",
			&params, NULL);
	return err == OK ? audit_store_record(r, conn, "identity.delete", AUDIT_STORE_USER,
	                                      r->user_id, NULL)
	                 : err;
}

enum http_progress oidc_identity_handlers_delete(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct untie untie = { .request = r };
	enum err err = pg_pool_transact(r->api->pg, remove_identity, &untie);
	if (untie.is_last)
		return response_problem(r, 409, "last-login",
		                        "Nothing else lets you in. Set a password, or tie another "
		                        "provider first.");
	return response_deleted(r, err);
}
