#include "services/links-api/accounts/email_change.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"
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
#include "services/links-api/mail/mail_queue.h"

#define LIFETIME_S (INT64_C(24) * 60 * 60)
#define DENIED 403

static enum err store_token(struct pg_conn *conn, int64_t user_id, const char *email,
                            const struct secret *token, int64_t *expires_at_us)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, user_id);
	pg_params_text(&params, email);
	pg_params_bytes(&params, token->hash, DIGEST_SIZE);
	pg_params_int(&params, LIFETIME_S);
	enum err err = pg_conn_query(
		conn,
		"INSERT INTO email_confirmations (user_id, email, token_hash, expires_at) "
		"VALUES ($1, $2, $3, clock_timestamp() + $4::bigint * interval '1 second') "
		"ON CONFLICT (user_id) DO UPDATE SET email = EXCLUDED.email, "
		"token_hash = EXCLUDED.token_hash, expires_at = EXCLUDED.expires_at RETURNING expires_at",
		&params, &rows);
	if (err == OK)
		*expires_at_us = pg_result_time(rows, 0, 0);
	pg_result_free(rows);
	return err;
}

enum err email_change_ask(struct pg_conn *conn, const struct request *r, const struct user *user,
                          const char *email)
{
	struct secret token;
	char url[PAGE_URL_SIZE];
	int64_t expires_at_us = 0;
	secret_generate(SECRET_EMAIL, &token);
	enum err err = store_token(conn, user->id, email, &token, &expires_at_us);
	if (err != OK)
		return err;
	page_url(r->api->config, "confirm", token.text, url);
	struct json *data = json_new_object();
	json_set_text(data, "url", url);
	json_set_time(data, "expires_at", expires_at_us);
	err = mail_outbox_add(conn, &(struct mail){ .kind = MAIL_CONFIRM_ADDRESS,
	                                            .to = email,
	                                            .locale = user->settings.locale,
	                                            .data = data });
	json_free(data);
	return err;
}

/* --- the request --- */

struct change {
	struct password_job job;
	char email[USER_EMAIL_SIZE];
	char password[PASSWORD_SIZE];
	struct user user;
	char hash[PASSWORD_HASH_SIZE];
};

/* ERR_CONFLICT: another account has the address. */
static enum err set_email(struct pg_conn *conn, struct user *user, const char *email,
                          bool is_confirmed)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, user->id);
	pg_params_text(&params, email);
	pg_params_bool(&params, is_confirmed);
	enum err err = pg_conn_query(
		conn,
		"WITH changed AS (UPDATE users SET email = $2, updated_at = clock_timestamp(), "
		"email_confirmed_at = CASE WHEN $3 THEN clock_timestamp() END "
		"WHERE id = $1 RETURNING id, email_confirmed_at), "
		"resets AS (DELETE FROM password_resets r USING changed c WHERE r.user_id = c.id) "
		"SELECT email_confirmed_at FROM changed",
		&params, &rows);
	if (err == OK) {
		snprintf(user->email, sizeof(user->email), "%s", email);
		user->email_confirmed_at_us = pg_result_time(rows, 0, 0);
	}
	pg_result_free(rows);
	return err;
}

static enum err record(const struct request *r, struct pg_conn *conn, const char *action)
{
	return audit_store_record(r, conn, action, AUDIT_STORE_USER, r->user_id, NULL);
}

static enum err change_on(void *ctx, struct pg_conn *conn)
{
	struct change *c = ctx;
	const struct request *r = c->job.request;
	enum err err = user_store_lock(conn, c->user.id);
	if (err != OK)
		return err;
	if (!mail_queue_is_on(r)) {
		err = set_email(conn, &c->user, c->email, false);
		return err == OK ? record(r, conn, "user.email") : err;
	}
	struct user other;
	char hash[PASSWORD_HASH_SIZE];
	err = user_store_find(conn, c->email, &other, hash);
	if (err == OK && other.id != c->user.id)
		return ERR_CONFLICT;
	if (err != OK && err != ERR_NOT_FOUND)
		return err;
	return email_change_ask(conn, r, &c->user, c->email);
}

static void respond(struct request *r, enum err err, unsigned status, const struct user *user)
{
	if (err == OK)
		response_json(r, status, user_store_json(user));
	else if (err == ERR_CONFLICT)
		response_conflict(r, "email-taken", "/email", "already belongs to an account");
	else if (err == ERR_NOT_FOUND)
		response_unauthorized(r, REQUEST_AUTH_INVALID);
	else
		response_failure(r, err);
}

/* Runs in a password thread. */
static void change_job(void *state)
{
	struct change *c = state;
	struct request *r = c->job.request;
	struct rate_limit_rule rule;
	int64_t reset_s = 0;
	bool has_mail = mail_queue_is_on(r);
	if (!password_job_matches(&c->job, c->password, c->hash))
		response_problem(r, DENIED, "wrong-password", "Wrong password.");
	else if (has_mail && mail_queue_count(r, c->email, &rule, &reset_s) != OK)
		response_rate_limited(r, &rule, reset_s);
	else
		respond(r, pg_pool_transact(r->api->pg, change_on, c), has_mail ? 202 : 200,
		        &c->user);
}

static enum err find_user(struct change *c)
{
	const struct request *r = c->job.request;
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(r->api->pg, &conn);
	if (err == OK)
		err = user_store_get_with_hash(conn, r->user_id, &c->user, c->hash);
	pg_pool_release(r->api->pg, conn);
	return err;
}

enum http_progress email_change_request(void *ctx, struct http_exchange *x)
{
	(void)x;
	static const char *const names[] = { "email", "password" };
	struct request *r = ctx;
	struct http_problem_fields wrong = { 0 };
	struct json *body = request_body_read(r);
	if (!body)
		return HTTP_COMPLETE;
	struct change *c = password_job_new(r, sizeof(*c));
	member_reject_unknown(body, names, ARRAY_SIZE(names), &wrong);
	credentials_read_email(body, c->email, &wrong);
	credentials_read_new_password(body, "password", c->password, &wrong);
	json_free(body);
	enum err err = wrong.count == 0 ? find_user(c) : ERR_INVALID;
	if (err == OK)
		return password_job_submit(c, PASSWORD_DOOR_TOKEN, r->user_id, NULL, change_job);
	if (err == ERR_INVALID)
		response_invalid_fields(r, &wrong);
	else
		respond(r, err, 0, NULL);
	password_job_free(c);
	return HTTP_COMPLETE;
}

/* --- the token --- */

struct confirmation {
	const struct request *request;
	uint8_t token_hash[DIGEST_SIZE];
	/* After the change. */
	struct user user;
	bool is_token_wrong;
};

/* Uses the token up. ERR_NOT_FOUND: it is none of this account, was used or has expired. */
static enum err take_token(const struct confirmation *c, struct pg_conn *conn,
                           char email[static USER_EMAIL_SIZE])
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, c->request->user_id);
	pg_params_bytes(&params, c->token_hash, DIGEST_SIZE);
	enum err err = pg_conn_query(conn,
	                             "DELETE FROM email_confirmations WHERE user_id = $1 AND "
	                             "token_hash = $2 AND expires_at > clock_timestamp() "
	                             "RETURNING email",
	                             &params, &rows);
	if (err == OK && pg_result_count(rows) != 1)
		err = ERR_NOT_FOUND;
	if (err == OK)
		snprintf(email, USER_EMAIL_SIZE, "%s", pg_result_text(rows, 0, 0));
	pg_result_free(rows);
	return err;
}

/* Whoever has taken over an account must not keep its user from learning of it. */
static enum err tell_both(const struct confirmation *c, struct pg_conn *conn, const char *old)
{
	const char *const addresses[] = { old, c->user.email };
	struct json *data = json_new_object();
	json_set_text(data, "old", old);
	json_set_text(data, "new", c->user.email);
	enum err err = OK;
	for (size_t i = 0; err == OK && i < ARRAY_SIZE(addresses); i++)
		err = mail_outbox_add(conn, &(struct mail){ .kind = MAIL_ADDRESS_CHANGED,
		                                            .to = addresses[i],
		                                            .locale = c->user.settings.locale,
		                                            .data = data });
	json_free(data);
	return err;
}

static enum err confirm_on(void *ctx, struct pg_conn *conn)
{
	struct confirmation *c = ctx;
	const struct request *r = c->request;
	char email[USER_EMAIL_SIZE], old[USER_EMAIL_SIZE];
	enum err err = user_store_lock(conn, r->user_id);
	if (err == OK)
		err = user_store_get(conn, r->user_id, &c->user);
	if (err != OK)
		return err;
	err = take_token(c, conn, email);
	c->is_token_wrong = err == ERR_NOT_FOUND;
	snprintf(old, sizeof(old), "%s", c->user.email);
	if (err == OK)
		err = set_email(conn, &c->user, email, true);
	if (err != OK)
		return err;
	bool is_same = strcmp(old, email) == 0;
	if (!is_same)
		err = tell_both(c, conn, old);
	return err == OK ? record(r, conn, is_same ? "user.email_confirm" : "user.email") : err;
}

enum http_progress email_change_confirm(void *ctx, struct http_exchange *x)
{
	(void)x;
	static const char *const names[] = { "token" };
	struct request *r = ctx;
	struct confirmation c = { .request = r };
	struct http_problem_fields wrong = { 0 };
	struct json *body = request_body_read(r);
	if (!body)
		return HTTP_COMPLETE;
	member_reject_unknown(body, names, ARRAY_SIZE(names), &wrong);
	const char *token = member_text_of(body, "token", true, &wrong);
	if (token)
		secret_hash(token, c.token_hash);
	json_free(body);
	if (wrong.count > 0)
		return response_invalid_fields(r, &wrong);
	enum err err = pg_pool_transact(r->api->pg, confirm_on, &c);
	if (c.is_token_wrong)
		return response_problem(
			r, DENIED, "wrong-token",
			"The token is of another account, was used or has expired. Log in to the "
			"account that it is for, or ask for a new mail: POST /api/auth/email.");
	respond(r, err, 200, &c.user);
	return HTTP_COMPLETE;
}
