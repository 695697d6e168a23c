#include "services/links-api/auth_handlers.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/digest.h"
#include "lib/base/mem.h"
#include "services/links-api/access_token.h"
#include "services/links-api/answer.h"
#include "services/links-api/credentials.h"
#include "services/links-api/user_json.h"

#define LOGIN_WINDOW_S (15 * 60)
#define SUBJECT_SIZE (2 * DIGEST_SIZE + 1)

/* A request whose password is being hashed. */
struct attempt {
	struct request *request;
	struct credentials credentials;
	char hash[PASSWORD_HASH_SIZE]; /* of a login; "" = there is no such account */
	char subject[SUBJECT_SIZE];    /* whom LOGIN_FAILURES counts */
	struct user user;
};

static void attempt_free(struct attempt *a)
{
	credentials_wipe(&a->credentials);
	free(a);
}

/* NULL: the request has been answered. */
static struct attempt *attempt_new(struct request *r, bool has_name)
{
	struct json *body = request_read_body(r);
	if (!body)
		return NULL;
	struct attempt *a = mem_zero(sizeof(*a));
	struct http_problem_fields wrong = { 0 };
	a->request = r;
	enum err err = credentials_read(body, has_name, &a->credentials, &wrong);
	json_free(body);
	if (err == OK)
		return a;
	answer_wrong_fields(r, &wrong);
	attempt_free(a);
	return NULL;
}

/* The attempt belongs to the job from here on. */
static enum http_progress hash_elsewhere(struct attempt *a, worker_pool_job job)
{
	struct request *r = a->request;
	if (worker_pool_submit(r->api->password_workers, job, a) == OK)
		return HTTP_PENDING;
	attempt_free(a);
	http_exchange_add_fixed_header(r->exchange, "Retry-After", "1");
	return answer_problem(r, 429, "busy", "Too many passwords are being checked at the moment; please try again.");
}

static void finish(struct attempt *a)
{
	struct http_exchange *x = a->request->exchange;
	attempt_free(a);
	http_exchange_resume(x);
}

static enum err create_user(struct attempt *a)
{
	struct pg_pool *pool = a->request->api->pg;
	struct pg_conn *conn = NULL;
	enum err err = password_hash(a->credentials.password, a->hash);
	if (err == OK)
		err = pg_pool_take(pool, &conn);
	if (err != OK)
		return err;
	err = user_store_create(conn, a->credentials.email, a->credentials.name, a->hash, &a->user);
	pg_pool_give(pool, conn);
	return err;
}

static void register_job(void *arg)
{
	struct attempt *a = arg;
	enum err err = create_user(a);
	if (err == OK)
		answer_json(a->request, 201, user_json_new(&a->user));
	else if (err == ERR_CONFLICT)
		answer_conflict(a->request, "email-taken", "/email", "has an account already");
	else
		answer_failure(a->request, err);
	finish(a);
}

enum http_progress auth_handlers_register(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct attempt *a = attempt_new(ctx, true);
	return a ? hash_elsewhere(a, register_job) : HTTP_ANSWERED;
}

static struct rate_limit_rule login_rule(const struct request *r)
{
	return (struct rate_limit_rule){
		.name = "login",
		.detail = "Too many wrong passwords for this account; please try again later.",
		.max = r->api->config->login_failures,
		.window_s = LOGIN_WINDOW_S,
	};
}

/* A digest, because Redis has no need to know addresses. */
static void name_subject(struct attempt *a)
{
	char email[USER_EMAIL_SIZE];
	size_t len = strlen(a->credentials.email);
	for (size_t i = 0; i <= len; i++)
		email[i] = (char)tolower((unsigned char)a->credentials.email[i]);
	uint8_t digest[DIGEST_SIZE];
	digest_sha256(email, len, digest);
	digest_hex(digest, sizeof(digest), a->subject);
}

static void give_back(const struct attempt *a)
{
	struct rate_limit_rule rule = login_rule(a->request);
	rate_limit_give_back(a->request->api->redis, &rule, a->subject);
}

static enum http_progress answer_token(struct request *r, const struct user *user)
{
	char token[ACCESS_TOKEN_SIZE];
	enum err err = access_token_issue(secret_list_get(&r->api->secrets, 0), user->id, user->token_generation,
	                                  request_now_us(r), token);
	if (err != OK)
		return answer_failure(r, err);
	struct json *answer = json_new_object();
	json_set_text(answer, "access_token", token);
	json_set_text(answer, "token_type", "Bearer");
	json_set_int(answer, "expires_in", ACCESS_TOKEN_LIFE_S);
	return answer_json(r, 200, answer);
}

static void login_job(void *arg)
{
	struct attempt *a = arg;
	struct request *r = a->request;
	if (password_matches(a->credentials.password, *a->hash ? a->hash : NULL)) {
		give_back(a);
		answer_token(r, &a->user);
	} else {
		http_exchange_add_fixed_header(r->exchange, "WWW-Authenticate", "Bearer realm=\"waymark\"");
		answer_problem(r, 401, "wrong-credentials", "The e-mail address or the password is wrong.");
	}
	finish(a);
}

/* An account that does not exist is not an error here: the same work follows. */
static enum err find_user(struct attempt *a)
{
	struct pg_pool *pool = a->request->api->pg;
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_take(pool, &conn);
	if (err != OK)
		return err;
	err = user_store_find(conn, a->credentials.email, &a->user, a->hash);
	pg_pool_give(pool, conn);
	return err == ERR_NOT_FOUND ? OK : err;
}

/*
 * Each attempt is counted before it is made and taken back if the password was right: however many come at once, no
 * more than LOGIN_FAILURES of them can be wrong guesses.
 */
enum http_progress auth_handlers_login(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct attempt *a = attempt_new(r, false);
	if (!a)
		return HTTP_ANSWERED;
	name_subject(a);
	struct rate_limit_rule rule = login_rule(r);
	int64_t reset_s = 0;
	if (rate_limit_take(r->api->redis, &rule, a->subject, &reset_s) != OK) {
		attempt_free(a);
		return answer_limited(r, &rule, reset_s);
	}
	enum err err = find_user(a);
	if (err != OK) {
		give_back(a);
		attempt_free(a);
		return answer_failure(r, err);
	}
	char subject[SUBJECT_SIZE];
	memcpy(subject, a->subject, sizeof(subject));
	enum http_progress progress = hash_elsewhere(a, login_job);
	if (progress != HTTP_PENDING)
		rate_limit_give_back(r->api->redis, &rule, subject);
	return progress;
}

enum http_progress auth_handlers_me(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct pg_conn *conn = NULL;
	struct user user;
	enum err err = pg_pool_take(r->api->pg, &conn);
	if (err != OK)
		return answer_failure(r, err);
	err = user_store_get(conn, r->user_id, &user);
	pg_pool_give(r->api->pg, conn);
	if (err == ERR_NOT_FOUND)
		return answer_login_needed(r, REQUEST_LOGIN_BAD);
	if (err != OK)
		return answer_failure(r, err);
	return answer_json(r, 200, user_json_new(&user));
}
