#include "lib/postgres/pg_pool.h"
#include "services/links-api/accounts/credentials.h"
#include "services/links-api/accounts/password_job.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/audit_store.h"
#include "services/links-api/identity/secret.h"
#include "services/links-api/identity/user_store.h"

struct creation {
	const struct request *request;
	int64_t id;
	struct secret token;
	int64_t expires_at_us;
	/* The caller lost the administrator role meanwhile. */
	bool caller_was_demoted;
};

static enum err create_on(void *ctx, struct pg_conn *conn)
{
	struct creation *c = ctx;
	enum err err = user_store_lock_admin(conn, c->request->user_id, c->id);
	c->caller_was_demoted = err == ERR_NOT_FOUND;
	if (err == OK)
		err = user_store_set_reset(conn, c->id, c->token.hash, USER_STORE_RESET_S,
		                           &c->expires_at_us);
	return err == OK ? audit_store_record(c->request, conn, "user.password_reset_create",
	                                      AUDIT_STORE_USER, c->id, NULL)
	                 : err;
}

enum http_progress password_reset_create(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct creation c = { .request = r, .id = request_path_id(r) };
	secret_generate(SECRET_RESET, &c.token);
	enum err err = pg_pool_transact(r->api->pg, create_on, &c);
	if (c.caller_was_demoted)
		return response_problem(
			r, 403, "forbidden",
			"Another administrator has removed your administrator role.");
	if (err == ERR_NOT_FOUND)
		return response_not_found(r);
	if (err != OK)
		return response_failure(r, err);
	struct json *response = json_new_object();
	json_set_text(response, "token", c.token.text);
	json_set_time(response, "expires_at", c.expires_at_us);
	return response_json(r, 201, response);
}

/* A request whose new password is being hashed. */
struct use {
	struct password_job job;
	uint8_t token_hash[DIGEST_SIZE];
	char new_password[PASSWORD_SIZE];
	char new_hash[PASSWORD_HASH_SIZE];
};

/* The user is the actor of the audit entry. */
static enum err use_on(void *ctx, struct pg_conn *conn)
{
	struct use *u = ctx;
	int64_t id = 0;
	enum err err = user_store_use_reset(conn, u->token_hash, u->new_hash, &id);
	if (err != OK)
		return err;
	u->job.request->user_id = id;
	return audit_store_record(u->job.request, conn, "user.password_reset", AUDIT_STORE_USER, id,
	                          NULL);
}

static void respond(struct request *r, enum err err)
{
	if (err == OK)
		response_no_content(r);
	else if (err == ERR_NOT_FOUND)
		response_problem(
			r, 403, "wrong-token",
			"The token is wrong, was used or has expired. Ask an administrator for "
			"a new one.");
	else
		response_failure(r, err);
}

/* Runs in a password thread. */
static void use_job(void *state)
{
	struct use *u = state;
	struct request *r = u->job.request;
	enum err err =
		password_hash(u->new_password, r->api->config->password_hash_cost, u->new_hash);
	if (err == OK)
		err = pg_pool_transact(r->api->pg, use_on, u);
	respond(r, err);
}

/* Before the password is hashed, so that a wrong token costs little. user_id: whose it is. */
static enum err find_token(const struct use *u, int64_t *user_id)
{
	struct pg_pool *pool = u->job.request->api->pg;
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(pool, &conn);
	if (err == OK)
		err = user_store_find_reset(conn, u->token_hash, user_id);
	pg_pool_release(pool, conn);
	return err;
}

enum http_progress password_reset_use(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct json *body = request_body_read(ctx);
	if (!body)
		return HTTP_COMPLETE;
	struct use *u = password_job_new(ctx, sizeof(*u));
	struct http_problem_fields wrong = { 0 };
	char token[PASSWORD_SIZE] = ""; /* a token has a length that a password may have */
	int64_t user_id = 0;
	enum err err = credentials_read_password(body, "token", "new_password", token,
	                                         u->new_password, &wrong);
	json_free(body);
	secret_hash(token, u->token_hash);
	if (err == OK)
		err = find_token(u, &user_id);
	if (err == OK)
		return password_job_submit(u, PASSWORD_DOOR_RESET, user_id, NULL, use_job);
	if (wrong.count > 0)
		response_invalid_fields(ctx, &wrong);
	else
		respond(ctx, err);
	password_job_free(u);
	return HTTP_COMPLETE;
}
