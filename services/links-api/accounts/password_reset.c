#include "services/links-api/accounts/password_reset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/digest.h"
#include "lib/base/entropy.h"
#include "lib/base/mem.h"
#include "lib/postgres/pg_transaction.h"
#include "services/links-api/accounts/credentials.h"
#include "services/links-api/accounts/password_queue.h"
#include "services/links-api/http/request_body.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/audit_store.h"
#include "services/links-api/identity/session_store.h"
#include "services/links-api/identity/user_store.h"

#define TOKEN_PREFIX "wmr_"
#define TOKEN_RANDOM_LENGTH 43 /* drawn from 62 characters: 256 bits */
#define TOKEN_SIZE (sizeof(TOKEN_PREFIX) + TOKEN_RANDOM_LENGTH)

struct creation {
	const struct request *request;
	int64_t id;
	uint8_t token_hash[DIGEST_SIZE];
	int64_t expires_at_us;
	/* The caller lost the administrator role meanwhile. */
	bool caller_was_demoted;
};

static void make_token(char out[static TOKEN_SIZE])
{
	const size_t prefix = strlen(TOKEN_PREFIX);
	snprintf(out, TOKEN_SIZE, "%s", TOKEN_PREFIX);
	entropy_text("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", out + prefix,
	             TOKEN_RANDOM_LENGTH);
}

static enum err create_on(void *ctx, struct pg_conn *conn)
{
	struct creation *c = ctx;
	enum err err = user_store_lock_admin(conn, c->request->user_id, c->id);
	c->caller_was_demoted = err == ERR_NOT_FOUND;
	if (err == OK)
		err = user_store_set_reset(conn, c->id, c->token_hash, PASSWORD_RESET_LIFETIME_S,
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
	char token[TOKEN_SIZE];
	make_token(token);
	digest_sha256(token, strlen(token), c.token_hash);
	enum err err = pg_transaction_run(r->api->pg, create_on, &c);
	if (c.caller_was_demoted)
		return response_problem(
			r, 403, "forbidden",
			"Another administrator has removed your administrator role.");
	if (err == ERR_NOT_FOUND)
		return response_not_found(r);
	if (err != OK)
		return response_failure(r, err);
	struct json *response = json_new_object();
	json_set_text(response, "token", token);
	json_set_time(response, "expires_at", c.expires_at_us);
	return response_json(r, 201, response);
}

/* A request whose new password is being hashed. */
struct use {
	struct request *request;
	uint8_t token_hash[DIGEST_SIZE];
	char new_password[PASSWORD_SIZE];
	char new_hash[PASSWORD_HASH_SIZE];
};

static void use_free(struct use *u)
{
	explicit_bzero(u, sizeof(*u));
	free(u);
}

/* NULL: the response is complete. */
static struct use *use_new(struct request *r)
{
	struct json *body = request_body_read(r);
	if (!body)
		return NULL;
	struct use *u = mem_zero(sizeof(*u));
	struct http_problem_fields wrong = { 0 };
	char token[PASSWORD_SIZE]; /* a token has a length that a password may have */
	u->request = r;
	enum err err = credentials_read_password(body, "token", "new_password", token,
	                                         u->new_password, &wrong);
	json_free(body);
	if (err == OK) {
		digest_sha256(token, strlen(token), u->token_hash);
		return u;
	}
	response_invalid_fields(r, &wrong);
	use_free(u);
	return NULL;
}

/* The user is the actor of the audit entry. */
static enum err use_on(void *ctx, struct pg_conn *conn)
{
	struct use *u = ctx;
	int64_t id = 0;
	enum err err = user_store_use_reset(conn, u->token_hash, u->new_hash, &id);
	if (err == OK)
		err = session_store_delete_all(conn, id);
	if (err != OK)
		return err;
	u->request->user_id = id;
	return audit_store_record(u->request, conn, "user.password_reset", AUDIT_STORE_USER, id,
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
static void use_job(void *arg)
{
	struct use *u = arg;
	struct request *r = u->request;
	enum err err =
		password_hash(u->new_password, r->api->config->password_hash_cost, u->new_hash);
	if (err == OK)
		err = pg_transaction_run(r->api->pg, use_on, u);
	respond(r, err);
	use_free(u);
	http_exchange_resume(r->exchange);
}

/* Checked before the password is hashed, so that a wrong token costs little. */
static enum err find_token(const struct use *u)
{
	struct pg_pool *pool = u->request->api->pg;
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(pool, &conn);
	if (err == OK)
		err = user_store_find_reset(conn, u->token_hash);
	pg_pool_release(pool, conn);
	return err;
}

enum http_progress password_reset_use(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct use *u = use_new(ctx);
	if (!u)
		return HTTP_COMPLETE;
	enum err err = find_token(u);
	if (err != OK)
		respond(ctx, err);
	else if (password_queue_submit(ctx, PASSWORD_QUEUE_LOGIN, use_job, u))
		return HTTP_PENDING;
	use_free(u);
	return HTTP_COMPLETE;
}
