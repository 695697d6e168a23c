#include "lib/postgres/pg_pool.h"
#include "services/links-api/accounts/credentials.h"
#include "services/links-api/accounts/email_change.h"
#include "services/links-api/accounts/registration.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/access_token.h"
#include "services/links-api/identity/audit_store.h"
#include "services/links-api/identity/authentication.h"
#include "services/links-api/identity/password_job.h"
#include "services/links-api/identity/session.h"
#include "services/links-api/mail/mail_queue.h"

#define OPEN_REPORTS_MAX 100

/* A request whose password is being hashed. */
struct attempt {
	struct password_job job;
	struct credentials credentials;
	/* At login: the stored hash; "" = no such account. */
	char hash[PASSWORD_HASH_SIZE];
	/* At login: a session, not an access token. */
	bool wants_session;
	/* id 0: there is none. */
	struct user user;
	/* At registration: the one that is taken; id 0: none. */
	struct invitation invitation;
	/* At registration: the address is to be confirmed. */
	bool mails;
};

/* NULL: the response is complete. */
static struct attempt *attempt_new(struct request *r, bool has_name)
{
	struct json *body = request_body_read(r);
	if (!body)
		return NULL;
	struct attempt *a = password_job_new(r, sizeof(*a));
	struct http_problem_fields wrong = { 0 };
	enum err err = credentials_read(body, has_name, &a->credentials, &wrong);
	json_free(body);
	if (err == OK)
		return a;
	response_invalid_fields(r, &wrong);
	password_job_free(a);
	return NULL;
}

/* The new account is the actor of its own audit entry. */
static enum err create_user_on(void *ctx, struct pg_conn *conn)
{
	struct attempt *a = ctx;
	const struct credentials *wanted = &a->credentials;
	enum err err = user_store_create(conn, wanted->email, wanted->name, a->hash, &a->user);
	a->job.request->user_id = err == OK ? a->user.id : 0;
	if (err == OK)
		err = audit_store_record(a->job.request, conn, "user.create", AUDIT_STORE_USER,
		                         a->user.id, NULL);
	if (err == OK && a->mails)
		err = email_change_ask(conn, a->job.request, &a->user, a->user.email);
	return err == OK && a->invitation.id ? invitation_take(a->job.request, conn, &a->invitation)
	                                     : err;
}

static enum err create_user(struct attempt *a)
{
	enum err err = password_hash(a->credentials.password,
	                             a->job.request->api->config->password_hash_cost, a->hash);
	return err == OK ? pg_pool_transact(a->job.request->api->pg, create_user_on, a) : err;
}

/* Runs in a password thread. */
static void register_job(void *state)
{
	struct attempt *a = state;
	struct request *r = a->job.request;
	struct rate_limit_rule rule;
	int64_t reset_s;
	/* Without a mail the account can ask for one later. */
	a->mails = mail_queue_is_on(r) &&
	           mail_queue_count(r, a->credentials.email, &rule, &reset_s) == OK;
	enum err err = create_user(a);
	if (err == OK) {
		password_job_remember_network(r, a->credentials.email);
		response_json(r, 201, user_store_json(&a->user));
	} else if (err == ERR_CONFLICT) {
		response_conflict(r, "email-taken", "/email", "already belongs to an account");
	} else {
		invitation_refuse(r, &a->invitation, false, err);
	}
}

static enum http_progress send_password_login_off(struct request *r)
{
	return response_problem(r, 403, "password-login-off",
	                        "Only administrators log in with a password here. Log in by one of "
	                        "the providers of GET /api/instance.");
}

enum http_progress auth_handlers_register(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	if (!r->api->config->password_login)
		return send_password_login_off(r);
	if (!registration_is_possible(r) || !authentication_has_https(r))
		return HTTP_COMPLETE;
	struct attempt *a = attempt_new(r, true);
	if (a && !registration_admits(r, &a->credentials, &a->invitation)) {
		password_job_free(a);
		return HTTP_COMPLETE;
	}
	return a ? password_job_submit(a, PASSWORD_DOOR_REGISTER, 0, NULL, register_job)
	         : HTTP_COMPLETE;
}

static enum http_progress send_token(struct request *r, const struct user *user)
{
	char token[ACCESS_TOKEN_SIZE];
	enum err err = access_token_issue(access_token_secret(r->api->secrets, 0), user->id,
	                                  user->token_generation, request_now_us(r), token);
	if (err != OK)
		return response_failure(r, err);
	struct json *response = json_new_object();
	json_set_text(response, "access_token", token);
	json_set_text(response, "token_type", "Bearer");
	json_set_int(response, "expires_in", ACCESS_TOKEN_LIFETIME_S);
	return response_json(r, 200, response);
}

static void refuse(struct request *r, const char *kind, const char *detail)
{
	http_exchange_add_fixed_header(r->exchange, "WWW-Authenticate", "Bearer realm=\"waymark\"");
	response_problem(r, 401, kind, detail);
}

static void send_wrong_credentials(struct request *r)
{
	refuse(r, "wrong-credentials", "The e-mail address or the password is wrong.");
}

/* False: the response is complete. A password that is right without its code is no wrong one. */
static bool takes_code(struct attempt *a)
{
	struct request *r = a->job.request;
	if (!a->user.has_second_factor)
		return true;
	if (*a->credentials.code == '\0') {
		refuse(r, "second-factor",
		       "The password is right. Send the 6 digits of the authenticator app, or a "
		       "recovery code, as code.");
		return false;
	}
	enum err err = password_job_use_code(&a->job, &a->user, a->credentials.code);
	if (err == ERR_NOT_FOUND)
		refuse(r, "wrong-code", PASSWORD_JOB_WRONG_CODE);
	return err == OK;
}

static void start_session(struct request *r, const struct user *user)
{
	enum err err = session_start(r, user);
	if (err == ERR_NOT_FOUND)
		send_wrong_credentials(r); /* the account has changed since find_user */
	else if (err != OK)
		response_failure(r, err);
}

static void let_in(struct attempt *a)
{
	password_job_remember_network(a->job.request, a->credentials.email);
	if (a->wants_session)
		start_session(a->job.request, &a->user);
	else
		send_token(a->job.request, &a->user);
}

/*
 * Runs in a password thread. Only a caller with the right password learns that the account is
 * blocked, or has a second factor.
 */
static void login_job(void *state)
{
	struct attempt *a = state;
	struct request *r = a->job.request;
	if (!password_job_matches(&a->job, a->credentials.password, *a->hash ? a->hash : NULL))
		send_wrong_credentials(r);
	else if (a->user.blocked)
		authentication_send_error(r, REQUEST_AUTH_BLOCKED);
	else if (!r->api->config->password_login && a->user.role != USER_ROLE_ADMIN)
		send_password_login_off(r);
	else if (takes_code(a))
		let_in(a);
}

/* A missing account is no error here: the same work follows, so timing does not reveal it. */
static enum err find_user(struct attempt *a)
{
	struct pg_pool *pool = a->job.request->api->pg;
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(pool, &conn);
	if (err == OK)
		err = user_store_find(conn, a->credentials.email, &a->user, a->hash);
	pg_pool_release(pool, conn);
	return err == ERR_NOT_FOUND ? OK : err;
}

static enum http_progress log_in(struct request *r, bool wants_session)
{
	struct attempt *a = attempt_new(r, false);
	if (!a)
		return HTTP_COMPLETE;
	a->wants_session = wants_session;
	enum err err = find_user(a);
	if (err == OK)
		return password_job_submit(a, PASSWORD_DOOR_LOGIN, a->user.id, a->credentials.email,
		                           login_job);
	response_failure(r, err);
	password_job_free(a);
	return HTTP_COMPLETE;
}

enum http_progress auth_handlers_login(void *ctx, struct http_exchange *x)
{
	(void)x;
	return log_in(ctx, false);
}

/* Another site must not log its visitors in to an account of its own. */
enum http_progress auth_handlers_start_session(void *ctx, struct http_exchange *x)
{
	(void)x;
	return authentication_is_same_origin(ctx) ? log_in(ctx, true) : HTTP_COMPLETE;
}

/* reports: how many are open, up to OPEN_REPORTS_MAX. */
static enum err count_open_reports(struct pg_conn *conn, int64_t *reports)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, OPEN_REPORTS_MAX);
	return pg_conn_query_int(conn,
	                         "SELECT count(*) FROM (SELECT 1 FROM abuse_reports "
	                         "WHERE closed_at IS NULL LIMIT $1::bigint) AS opened",
	                         &params, reports);
}

static enum http_progress send_user(struct request *r, bool has_reports)
{
	struct pg_conn *conn = NULL;
	struct user user;
	int64_t reports = 0;
	enum err err = pg_pool_acquire(r->api->pg, &conn);
	if (err != OK)
		return response_failure(r, err);
	err = user_store_get(conn, r->user_id, &user);
	has_reports = err == OK && has_reports && user.role == USER_ROLE_ADMIN;
	if (has_reports)
		err = count_open_reports(conn, &reports);
	pg_pool_release(r->api->pg, conn);
	if (err == ERR_NOT_FOUND)
		return response_unauthorized(r, REQUEST_AUTH_INVALID);
	if (err != OK)
		return response_failure(r, err);
	struct json *response = user_store_json(&user);
	if (has_reports)
		json_set_int(response, "open_reports", reports);
	return response_json(r, 200, response);
}

/*
 * A page asks this before it knows whether anybody is logged in, so nobody is not an error. An API
 * key logs nobody in.
 */
enum http_progress auth_handlers_get_session(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	enum request_auth login = authentication_read(r);
	enum err err = login == REQUEST_AUTH_VALID ? authentication_verify(r, &login) : OK;
	if (err != OK)
		return response_failure(r, err);
	if (login == REQUEST_AUTH_VALID && r->key_id == 0)
		return send_user(r, true);
	if (login != REQUEST_AUTH_VALID && login != REQUEST_AUTH_MISSING &&
	    login != REQUEST_AUTH_INVALID)
		return authentication_send_error(r, login);
	if (login == REQUEST_AUTH_INVALID && r->credentials.kind == REQUEST_SESSION)
		session_clear_cookie(r);
	struct json *response = json_new_object();
	json_set_null(response, "user");
	return response_json(r, 200, response);
}

enum http_progress auth_handlers_me(void *ctx, struct http_exchange *x)
{
	(void)x;
	return send_user(ctx, false);
}
