#include "services/links-api/identity/session.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/utf8.h"
#include "lib/postgres/pg_pool.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/audit_store.h"
#include "services/links-api/identity/secret.h"
#include "services/links-api/identity/user_store.h"

/* --- the cookie --- */

#define HEADER_SIZE 192

/* Browsers accept the prefix __Host- only from this host, over HTTPS, for all paths. */
static const char *cookie_name(const struct request *r)
{
	return r->api->is_https ? "__Host-waymark" : "waymark";
}

enum err session_read_cookie(const struct request *r, uint8_t hash[static DIGEST_SIZE])
{
	const char *text;
	enum err err = http_exchange_cookie(r->exchange, cookie_name(r), &text);
	if (err == ERR_NOT_FOUND)
		return err;
	if (err != OK || !secret_is_well_formed(text, SECRET_SESSION))
		return ERR_INVALID;
	secret_hash(text, hash);
	return OK;
}

static enum err add_cookie(struct request *r, const char *value, int max_age_s)
{
	char header[HEADER_SIZE];
	snprintf(header, sizeof(header), "%s=%s; Path=/; Max-Age=%d; HttpOnly; SameSite=Strict%s",
	         cookie_name(r), value, max_age_s, r->api->is_https ? "; Secure" : "");
	return http_exchange_add_header(r->exchange, "Set-Cookie", header);
}

static enum err set_cookie(struct request *r, const struct secret *secret)
{
	return add_cookie(r, secret->text, SESSION_LIFETIME_S);
}

void session_clear_cookie(struct request *r)
{
	(void)!add_cookie(r, "", 0);
}

/* --- the table sessions --- */

#define SECONDS(parameter) parameter "::bigint * interval '1 second'"
/* $1: SESSION_IDLE_S, $2: SESSION_LIFETIME_S. */
#define EXPIRES_AT "LEAST(last_used_at + " SECONDS("$1") ", created_at + " SECONDS("$2") ")"
#define SELECT_VALID                                                                               \
	"SELECT id, user_id, user_agent, created_at, last_used_at, " EXPIRES_AT                    \
	", last_used_at <= clock_timestamp() - interval '1 minute', provider IS NOT NULL "         \
	"FROM sessions WHERE " EXPIRES_AT " > clock_timestamp() AND "

static void add_times(struct pg_params *params)
{
	pg_params_int(params, SESSION_IDLE_S);
	pg_params_int(params, SESSION_LIFETIME_S);
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
	out->is_by_provider = pg_result_bool(rows, row, 7);
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

enum err session_use(struct pg_conn *conn, const uint8_t hash[static DIGEST_SIZE],
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

enum err session_is_fresh(struct pg_conn *conn, int64_t id, bool *is_fresh)
{
	struct pg_params params = { 0 };
	int64_t found = 0;
	pg_params_int(&params, id);
	pg_params_int(&params, SESSION_FRESH_S);
	enum err err = pg_conn_query_int(
		conn,
		"SELECT id FROM sessions WHERE id = $1 AND created_at > clock_timestamp() - " SECONDS(
			"$2"),
		&params, &found);
	*is_fresh = err == OK;
	return err == ERR_NOT_FOUND ? OK : err;
}

static enum err insert(struct pg_conn *conn, const struct session *wanted, const char *provider,
                       const uint8_t hash[static DIGEST_SIZE])
{
	struct pg_params limit = { 0 };
	pg_params_int(&limit, wanted->user_id);
	pg_params_int(&limit, SESSION_SESSIONS_MAX - 1);
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
	pg_params_text(&params, provider);
	return pg_conn_query(conn,
	                     "INSERT INTO sessions (user_id, secret_hash, user_agent, provider) "
	                     "VALUES ($1, $2, $3, $4)",
	                     &params, NULL);
}

static enum err delete_by_hash(struct pg_conn *conn, const uint8_t hash[static DIGEST_SIZE])
{
	struct pg_params params = { 0 };
	pg_params_bytes(&params, hash, DIGEST_SIZE);
	return pg_conn_query(conn, "DELETE FROM sessions WHERE secret_hash = $1", &params, NULL);
}

/* --- requests --- */

struct start {
	struct request *request;
	const struct user *user;
	const char *provider;
	struct secret secret;
	struct session session;
};

/* A browser that logs in again gets another secret, and the old one is worthless. */
static enum err end_previous(const struct start *s, struct pg_conn *conn)
{
	uint8_t hash[DIGEST_SIZE];
	return session_read_cookie(s->request, hash) == OK ? delete_by_hash(conn, hash) : OK;
}

static enum err start_on(void *ctx, struct pg_conn *conn)
{
	struct start *s = ctx;
	enum err err = user_store_lock_for_login(conn, s->user->id, s->user->token_generation);
	if (err == OK)
		err = end_previous(s, conn);
	return err == OK ? insert(conn, &s->session, s->provider, s->secret.hash) : err;
}

enum err session_open(struct request *r, const struct user *user, const char *provider)
{
	struct start s = {
		.request = r, .user = user, .provider = provider, .session.user_id = user->id
	};
	const char *agent = http_exchange_header(r->exchange, "User-Agent");
	if (agent)
		utf8_copy_clean(agent, strnlen(agent, SESSION_USER_AGENT_BYTES_MAX),
		                s.session.user_agent, sizeof(s.session.user_agent));
	secret_generate(SECRET_SESSION, &s.secret);
	enum err err = pg_pool_transact(r->api->pg, start_on, &s);
	if (err == OK)
		err = set_cookie(r, &s.secret);
	explicit_bzero(&s.secret, sizeof(s.secret));
	return err;
}

enum err session_start(struct request *r, const struct user *user)
{
	enum err err = session_open(r, user, NULL);
	if (err == OK)
		response_json(r, 201, user_store_json(user));
	return err;
}

/* {id, user_agent, current, created_at, last_used_at, expires_at}. The caller owns the result. */
static struct json *session_json(const struct request *r, const struct session *session)
{
	struct json *object = json_new_object();
	json_set_int(object, "id", session->id);
	json_set_text(object, "user_agent", session->user_agent);
	json_set_bool(object, "current", session->id == r->session_id);
	json_set_time(object, "created_at", session->created_at_us);
	json_set_time(object, "last_used_at", session->last_used_at_us);
	json_set_time(object, "expires_at", session->expires_at_us);
	return object;
}

static struct json *row_json(const struct request *r, const struct pg_result *rows, size_t row)
{
	struct session session;
	read_row(rows, row, &session);
	return session_json(r, &session);
}

enum http_progress session_handle_list(void *ctx, struct http_exchange *x)
{
	(void)x;
	const struct request *r = ctx;
	struct pg_params params = { 0 };
	add_times(&params);
	pg_params_int(&params, r->user_id);
	pg_params_int(&params, SESSION_SESSIONS_MAX);
	return response_rows(ctx, "sessions", SELECT_VALID "user_id = $3 ORDER BY id DESC LIMIT $4",
	                     &params, row_json);
}

static enum err end(struct request *r, int64_t id)
{
	enum err err = audit_store_delete(
		r, id, r->user_id,
		"DELETE FROM sessions WHERE id = $1 AND user_id = $2 RETURNING 0", "session.delete",
		AUDIT_STORE_SESSION);
	if (err == OK && id == r->session_id)
		session_clear_cookie(r);
	return err;
}

static enum err read_provider(struct request *r, char provider[static SESSION_PROVIDER_SIZE])
{
	struct pg_conn *conn = NULL;
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, r->session_id);
	enum err err = pg_pool_acquire(r->api->pg, &conn);
	if (err == OK)
		err = pg_conn_query(conn, "SELECT provider FROM sessions WHERE id = $1", &params,
		                    &rows);
	if (err == OK && pg_result_count(rows) != 1)
		err = ERR_NOT_FOUND;
	if (err == OK)
		snprintf(provider, SESSION_PROVIDER_SIZE, "%s", pg_result_text(rows, 0, 0));
	pg_result_free(rows);
	pg_pool_release(r->api->pg, conn);
	return err;
}

enum err session_end(struct request *r, char provider[static SESSION_PROVIDER_SIZE])
{
	enum err err = read_provider(r, provider);
	return err == OK ? end(r, r->session_id) : err;
}

enum http_progress session_handle_delete(void *ctx, struct http_exchange *x)
{
	(void)x;
	return response_deleted(ctx, end(ctx, request_path_id(ctx)));
}

enum http_progress session_handle_end(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	return response_deleted(r, end(r, r->session_id));
}
