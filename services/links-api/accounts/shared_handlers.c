#include "services/links-api/accounts/shared_handlers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "services/links-api/accounts/login_limiter.h"
#include "services/links-api/accounts/password_queue.h"
#include "services/links-api/accounts/share_json.h"
#include "services/links-api/http/member.h"
#include "services/links-api/http/request_body.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/access_token.h"
#include "services/links-api/identity/jwt_secrets.h"
#include "services/links-api/identity/share_store.h"

#define LIMITED_NAME_SIZE 32

/* A reader who opens a share. */
struct opening {
	struct request *request;
	struct share share;
	uint8_t token_hash[DIGEST_SIZE];
	char password[PASSWORD_SIZE];
	/* "" = the share has no password. */
	char password_hash[PASSWORD_HASH_SIZE];
	struct login_attempt limit;
};

static void opening_free(struct opening *o)
{
	explicit_bzero(o, sizeof(*o));
	free(o);
}

/* {token, password?}. password: "" = none. ERR_INVALID: wrong lists every invalid member. */
static enum err read_access(const struct json *object, uint8_t token_hash[static DIGEST_SIZE],
                            char password[static PASSWORD_SIZE], struct http_problem_fields *wrong)
{
	static const char *const names[] = { "token", "password" };
	member_reject_unknown(object, names, 2, wrong);
	const char *token = member_text_of(object, "token", true, wrong);
	if (token)
		secret_hash(token, token_hash);
	const struct json *value = json_get(object, "password");
	bool is_given = value && json_type(value) != JSON_NULL;
	const char *given = is_given ? member_text(value, "/password", wrong) : NULL;
	snprintf(password, PASSWORD_SIZE, "%s", given ? given : "");
	if (given && strlen(given) > PASSWORD_BYTES_MAX)
		http_problem_add_field(wrong, "/password", "too-many-bytes",
		                       "must have at most %d bytes", PASSWORD_BYTES_MAX);
	return wrong->count == 0 ? OK : ERR_INVALID;
}

/* NULL: the response is complete. */
static struct opening *opening_new(struct request *r)
{
	struct json *body = request_body_read(r);
	if (!body)
		return NULL;
	struct opening *o = mem_zero(sizeof(*o));
	struct http_problem_fields wrong = { 0 };
	o->request = r;
	enum err err = read_access(body, o->token_hash, o->password, &wrong);
	json_free(body);
	if (err == OK)
		return o;
	response_invalid_fields(r, &wrong);
	opening_free(o);
	return NULL;
}

static enum err find(struct opening *o)
{
	struct pg_pool *pool = o->request->api->pg;
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(pool, &conn);
	if (err == OK)
		err = share_store_find(conn, o->token_hash, &o->share, o->password_hash);
	pg_pool_release(pool, conn);
	return err;
}

static enum err mark_used(const struct opening *o)
{
	struct pg_pool *pool = o->request->api->pg;
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(pool, &conn);
	if (err == OK)
		err = share_store_mark_used(conn, o->share.id);
	pg_pool_release(pool, conn);
	return err;
}

static enum http_progress send_access(const struct opening *o)
{
	struct request *r = o->request;
	char token[ACCESS_TOKEN_SIZE];
	enum err err = mark_used(o);
	if (err == OK)
		err = access_token_issue_for_share(jwt_secrets_get(r->api->secrets, 0), o->share.id,
		                                   request_now_us(r), token);
	if (err != OK)
		return response_failure(r, err);
	struct json *response = json_new_object();
	json_set_text(response, "access_token", token);
	json_set_text(response, "token_type", "Bearer");
	json_set_int(response, "expires_in", ACCESS_TOKEN_SHARE_LIFETIME_S);
	return response_json(r, 200, response);
}

static enum http_progress send_password_needed(struct request *r, bool was_wrong)
{
	http_exchange_add_fixed_header(r->exchange, "WWW-Authenticate", "Bearer realm=\"waymark\"");
	return response_problem(r, 401, "share-password",
	                        was_wrong ? "The password of this share is wrong."
	                                  : "This share has a password. Send it as password.");
}

/* Runs in a password thread. */
static void check_job(void *arg)
{
	struct opening *o = arg;
	struct request *r = o->request;
	bool is_correct =
		password_matches(o->password, o->password_hash, r->api->config->password_hash_cost);
	login_limiter_end(r, &o->limit, is_correct ? LOGIN_RESULT_RIGHT : LOGIN_RESULT_WRONG);
	if (is_correct)
		send_access(o);
	else
		send_password_needed(r, true);
	opening_free(o);
	http_exchange_resume(r->exchange);
}

/*
 * Wrong passwords of a share are limited like those of an account. Its name there has no "@", so it
 * is no account's. True: the check has been submitted and owns o.
 */
static bool submit_check(struct opening *o)
{
	struct request *r = o->request;
	char name[LIMITED_NAME_SIZE];
	snprintf(name, sizeof(name), "share:%" PRId64, o->share.id);
	if (login_limiter_begin(r, name, &o->limit) != OK)
		return false;
	enum password_queue_kind kind =
		o->limit.has_priority ? PASSWORD_QUEUE_PRIORITY : PASSWORD_QUEUE_LOGIN;
	if (password_queue_submit(r, kind, check_job, o))
		return true;
	login_limiter_end(r, &o->limit, LOGIN_RESULT_ABANDONED);
	return false;
}

enum http_progress shared_handlers_access(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct opening *o = opening_new(r);
	if (!o)
		return HTTP_COMPLETE;
	enum err err = find(o);
	if (err == ERR_NOT_FOUND)
		response_problem(
			r, 404, "no-share",
			"This share does not exist or has ended. Ask its owner for a new one.");
	else if (err != OK)
		response_failure(r, err);
	else if (!*o->password_hash)
		send_access(o);
	else if (!*o->password)
		send_password_needed(r, false);
	else if (submit_check(o))
		return HTTP_PENDING;
	opening_free(o);
	return HTTP_COMPLETE;
}

enum http_progress shared_handlers_get(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	return response_json(r, 200, share_json_for_reader(r->share, r->api->base));
}
