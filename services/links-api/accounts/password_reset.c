#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/mail/mail_outbox.h"
#include "lib/postgres/pg_pool.h"
#include "services/links-api/accounts/credentials.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/http/member.h"
#include "services/links-api/http/page_url.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/audit_store.h"
#include "services/links-api/identity/password_job.h"
#include "services/links-api/identity/secret.h"
#include "services/links-api/identity/user_store.h"
#include "services/links-api/mail/mail_queue.h"

#define REQUEST_ID_SIZE 65

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
		err = user_store_set_reset(conn, c->id, false, c->token.hash, USER_STORE_RESET_S,
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

/*
 * --- a mail that somebody asks for ---
 *
 * The response does not say whether the address has an account, nor does its time: a thread does the
 * work after it. Who has had too many mails gets no more, and no other response, and has a token that
 * is still good.
 */

struct asking {
	const struct api *api;
	char email[USER_EMAIL_SIZE];
	char request_id[REQUEST_ID_SIZE];
	struct user user;
};

static enum err send_mail(const struct asking *a, struct pg_conn *conn, const char *token,
                          int64_t expires_at_us)
{
	char url[PAGE_URL_SIZE];
	page_url(a->api->config, "reset", token, url);
	struct json *data = json_new_object();
	json_set_text(data, "url", url);
	json_set_time(data, "expires_at", expires_at_us);
	enum err err = mail_outbox_add(conn, &(struct mail){ .kind = MAIL_PASSWORD_RESET,
	                                                     .to = a->user.email,
	                                                     .locale = a->user.settings.locale,
	                                                     .data = data });
	json_free(data);
	return err;
}

static enum err ask_on(void *ctx, struct pg_conn *conn)
{
	struct asking *a = ctx;
	struct secret token;
	char hash[PASSWORD_HASH_SIZE];
	int64_t expires_at_us = 0;
	enum err err = user_store_find(conn, a->email, &a->user, hash);
	if (err == ERR_NOT_FOUND || (err == OK && a->user.blocked))
		return OK;
	secret_generate(SECRET_RESET, &token);
	if (err == OK)
		err = user_store_set_reset(conn, a->user.id, true, token.hash, USER_STORE_RESET_S,
		                           &expires_at_us);
	if (err == OK)
		err = send_mail(a, conn, token.text, expires_at_us);
	const struct audit_entry entry = {
		.action = "user.password_reset_create",
		.subject_type = AUDIT_STORE_USER,
		.subject_id = a->user.id,
		.request_id = a->request_id,
	};
	return err == OK ? audit_store_add(conn, &entry) : err;
}

/* Runs in a password thread, after the response. */
static void ask_job(void *state)
{
	struct asking *a = state;
	enum err err = pg_pool_transact(a->api->pg, ask_on, a);
	if (err != OK)
		log_error(a->api->log, "password_reset_mail", LOG_TEXT("error", err_name(err)),
		          LOG_TEXT("request_id", a->request_id));
	free(a);
}

/* Takes the place of a response, which has been sent. */
static enum err ask_later(const struct request *r, const char *email)
{
	struct asking *a = mem_zero(sizeof(*a));
	a->api = r->api;
	snprintf(a->email, sizeof(a->email), "%s", email);
	snprintf(a->request_id, sizeof(a->request_id), "%s", http_exchange_request_id(r->exchange));
	enum err err = worker_pool_submit_for(r->api->password_workers, request_flow(r, 0), ask_job,
	                                      free, a);
	if (err != OK)
		free(a);
	return err;
}

/* ERR_LIMIT: the response is complete. ERR_NOT_FOUND: the address has had enough mails. */
static enum err count_mail(struct request *r, const char *email)
{
	struct rate_limit_rule rule;
	int64_t reset_s = 0;
	if (mail_queue_count(r, email, &rule, &reset_s) == OK)
		return OK;
	if (strcmp(rule.name, rate_limit_rule_of(r->api->config, LIMITS_MAILS_TO_ADDRESS).name) ==
	    0)
		return ERR_NOT_FOUND;
	response_rate_limited(r, &rule, reset_s);
	return ERR_LIMIT;
}

enum http_progress password_reset_request(void *ctx, struct http_exchange *x)
{
	(void)x;
	static const char *const names[] = { "email" };
	struct request *r = ctx;
	struct http_problem_fields wrong = { 0 };
	char email[USER_EMAIL_SIZE];
	struct json *body = request_body_read(r);
	if (!body)
		return HTTP_COMPLETE;
	member_reject_unknown(body, names, ARRAY_SIZE(names), &wrong);
	credentials_read_email(body, email, &wrong);
	json_free(body);
	if (wrong.count > 0)
		return response_invalid_fields(r, &wrong);
	if (!mail_queue_is_on(r))
		return response_problem(
			r, 409, "no-mail",
			"This server sends no mail. Ask one of its administrators for a "
			"link that sets a new password once.");
	enum err err = count_mail(r, email);
	if (err == ERR_LIMIT)
		return HTTP_COMPLETE;
	if (err == OK && ask_later(r, email) != OK) {
		response_add_retry_after(r, 1);
		return response_problem(r, 429, "busy",
		                        "Too many password checks are waiting. Please retry.");
	}
	return response_json(r, 202, json_new_object());
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
			"The token is wrong, was used or has expired. Ask for a new mail, or an "
			"administrator of this server for a new token.");
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
