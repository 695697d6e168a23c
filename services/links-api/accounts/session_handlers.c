#include "services/links-api/accounts/session_handlers.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/base/utf8.h"
#include "lib/postgres/pg_transaction.h"
#include "services/links-api/accounts/user_json.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/audit_store.h"
#include "services/links-api/identity/session_cookie.h"
#include "services/links-api/identity/session_store.h"

struct start {
	struct request *request;
	const struct user *user;
	struct secret secret;
	struct session session;
};

/* A browser that logs in again gets another secret, and the old one is worthless. */
static enum err end_previous(const struct start *s, struct pg_conn *conn)
{
	uint8_t hash[DIGEST_SIZE];
	return session_cookie_read(s->request, hash) == OK
	               ? session_store_delete_by_hash(conn, hash)
	               : OK;
}

static enum err start_on(void *ctx, struct pg_conn *conn)
{
	struct start *s = ctx;
	enum err err = user_store_lock_for_login(conn, s->user->id, s->user->token_generation);
	if (err == OK)
		err = end_previous(s, conn);
	return err == OK ? session_store_create(conn, &s->session, s->secret.hash) : err;
}

enum err session_handlers_start(struct request *r, const struct user *user)
{
	struct start s = { .request = r, .user = user, .session.user_id = user->id };
	const char *agent = http_exchange_header(r->exchange, "User-Agent");
	if (agent)
		utf8_copy_clean(agent, strnlen(agent, SESSION_USER_AGENT_BYTES_MAX),
		                s.session.user_agent, sizeof(s.session.user_agent));
	secret_generate(SECRET_SESSION, &s.secret);
	enum err err = pg_transaction_run(r->api->pg, start_on, &s);
	if (err == OK)
		err = session_cookie_set(r, &s.secret);
	explicit_bzero(&s.secret, sizeof(s.secret));
	if (err == OK)
		response_json(r, 201, user_json_new(user));
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

enum http_progress session_handlers_list(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct session *sessions = mem_array(SESSION_STORE_SESSIONS_MAX, sizeof(*sessions));
	size_t count = 0;
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(r->api->pg, &conn);
	if (err == OK)
		err = session_store_list(conn, r->user_id, sessions, &count);
	pg_pool_release(r->api->pg, conn);
	struct json *array = json_new_array();
	for (size_t i = 0; i < count; i++)
		json_append(array, session_json(r, &sessions[i]));
	free(sessions);
	return response_list(r, err, "sessions", array);
}

struct end {
	const struct request *request;
	int64_t id;
};

static enum err end_on(void *ctx, struct pg_conn *conn)
{
	const struct end *e = ctx;
	enum err err = session_store_delete(conn, e->request->user_id, e->id);
	return err == OK ? audit_store_record(e->request, conn, "session.delete",
	                                      AUDIT_STORE_SESSION, e->id, NULL)
	                 : err;
}

static enum http_progress end_session(struct request *r, int64_t id)
{
	struct end end = { r, id };
	enum err err = pg_transaction_run(r->api->pg, end_on, &end);
	if (err == OK && id == r->session_id)
		session_cookie_clear(r);
	return response_deleted(r, err);
}

enum http_progress session_handlers_delete(void *ctx, struct http_exchange *x)
{
	(void)x;
	return end_session(ctx, request_path_id(ctx));
}

enum http_progress session_handlers_end(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	return end_session(r, r->session_id);
}
