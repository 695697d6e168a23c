#include <inttypes.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/postgres/pg_pool.h"
#include "services/links-api/accounts/credentials.h"
#include "services/links-api/destinations/public_base.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/http/member.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/audit_store.h"
#include "services/links-api/identity/password_job.h"
#include "services/links-api/identity/second_factor.h"
#include "services/links-api/identity/session.h"

#define URL_BYTES_MAX 2048
#define DENIED 403

static enum http_progress send_codes(struct request *r, struct json *codes)
{
	struct json *response = json_new_object();
	json_set(response, "recovery_codes", codes);
	return response_json(r, 200, response);
}

static enum http_progress send_state(struct request *r, const char *detail)
{
	return response_conflict(r, "state", "", detail);
}

enum http_progress second_factor_handlers_get(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct pg_conn *conn = NULL;
	struct second_factor factor;
	enum err err = pg_pool_acquire(r->api->pg, &conn);
	if (err == OK)
		err = second_factor_get(conn, r->user_id, &factor);
	pg_pool_release(r->api->pg, conn);
	if (err != OK)
		return response_failure(r, err);
	struct json *response = json_new_object();
	if (factor.since_us)
		json_set_time(response, "since", factor.since_us);
	else
		json_set_null(response, "since");
	json_set_int(response, "recovery_codes_left", factor.recovery_codes_left);
	json_set_bool(response, "required",
	              factor.is_required || strcmp(r->api->config->second_factor, "required") == 0);
	return response_json(r, 200, response);
}

/* --- with the password: to set one up, for new recovery codes, and to remove it --- */

struct change {
	struct password_job job;
	char password[PASSWORD_SIZE];
	char code[SECOND_FACTOR_TYPED_MAX + 1];
	struct user user;
	char hash[PASSWORD_HASH_SIZE];
	pg_pool_work work;
	/* Of work. */
	struct second_factor_offer offer;
	struct json *codes;
	bool has_fresh_session;
};

static enum err offer_on(void *ctx, struct pg_conn *conn)
{
	struct change *c = ctx;
	return second_factor_offer(conn, c->user.id, &c->offer);
}

static enum err record(const struct change *c, struct pg_conn *conn, const char *action)
{
	return audit_store_record(c->job.request, conn, action, AUDIT_STORE_USER, c->user.id, NULL);
}

static enum err renew_on(void *ctx, struct pg_conn *conn)
{
	struct change *c = ctx;
	enum err err = second_factor_renew(conn, c->user.id, &c->codes);
	return err == OK ? record(c, conn, "user.recovery_codes") : err;
}

static enum err remove_on(void *ctx, struct pg_conn *conn)
{
	struct change *c = ctx;
	enum err err = second_factor_remove(conn, c->user.id);
	return err == OK ? record(c, conn, "user.second_factor_remove") : err;
}

static void send_secret(const struct change *c)
{
	struct request *r = c->job.request;
	struct strbuf url;
	strbuf_init(&url, URL_BYTES_MAX);
	second_factor_url(strstr(r->api->base->url, "://") + 3, c->user.email, c->offer.secret,
	                  &url);
	if (strbuf_status(&url) == OK) {
		struct json *response = json_new_object();
		json_set_text(response, "secret", c->offer.secret);
		json_set_text(response, "otpauth_url", url.data);
		json_set_bool(response, "replaces_earlier", c->offer.replaces_earlier);
		response_json(r, c->offer.is_new ? 201 : 200, response);
	} else {
		response_failure(r, ERR_INTERNAL);
	}
	strbuf_clear(&url);
}

static void apply(struct change *c)
{
	struct request *r = c->job.request;
	enum err err = pg_pool_transact(r->api->pg, c->work, c);
	if (err != OK)
		json_free(c->codes);
	if (err == ERR_CONFLICT)
		send_state(r, "You have a second factor. Remove it before you set up another.");
	else if (err == ERR_NOT_FOUND)
		send_state(r, "You have no second factor.");
	else if (err != OK)
		response_failure(r, err);
	else if (c->work == offer_on)
		send_secret(c);
	else if (c->work == renew_on)
		send_codes(r, c->codes);
	else
		response_no_content(r);
}

/* Runs in a password thread. */
static void change_job(void *state)
{
	struct change *c = state;
	struct request *r = c->job.request;
	if (!password_job_matches(&c->job, c->password, c->hash)) {
		response_problem(r, DENIED, "wrong-password", "Wrong password.");
		return;
	}
	bool needs_code = c->work != offer_on && c->user.has_second_factor;
	enum err err = needs_code ? password_job_use_code(&c->job, &c->user, c->code) : OK;
	if (err == ERR_NOT_FOUND)
		response_problem(r, DENIED, "wrong-code", PASSWORD_JOB_WRONG_CODE);
	else if (err == OK)
		apply(c);
}

/* Where work needs no password, because the caller has just logged in. */
static enum err find_user(struct change *c)
{
	const struct request *r = c->job.request;
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(r->api->pg, &conn);
	if (err == OK)
		err = user_store_get_with_hash(conn, r->user_id, &c->user, c->hash);
	if (err == OK && c->work == offer_on && r->session_id)
		err = session_is_fresh(conn, r->session_id, &c->has_fresh_session);
	pg_pool_release(r->api->pg, conn);
	return err;
}

static void read_body(const struct json *body, struct change *c, struct http_problem_fields *wrong)
{
	static const char *const names[] = { "password", "code" };
	bool needs_code = c->work != offer_on;
	member_reject_unknown(body, names, needs_code ? 2 : 1, wrong);
	if (needs_code || json_get(body, "password"))
		credentials_read_new_password(body, "password", c->password, wrong);
	if (needs_code)
		credentials_read_code(body, true, c->code, wrong);
}

static enum http_progress change(struct request *r, pg_pool_work work)
{
	struct json *body = request_body_read(r);
	if (!body)
		return HTTP_COMPLETE;
	struct change *c = password_job_new(r, sizeof(*c));
	struct http_problem_fields wrong = { 0 };
	c->work = work;
	enum err err = find_user(c);
	if (err == OK)
		read_body(body, c, &wrong);
	json_free(body);
	if (err == OK && wrong.count == 0 && *c->password)
		return password_job_submit(c, PASSWORD_DOOR_TOKEN, r->user_id, NULL, change_job);
	if (err == ERR_NOT_FOUND)
		response_unauthorized(r, REQUEST_AUTH_INVALID);
	else if (err != OK)
		response_failure(r, err);
	else if (wrong.count > 0)
		response_invalid_fields(r, &wrong);
	else if (c->has_fresh_session)
		apply(c);
	else
		response_problem(r, DENIED, "wrong-password",
		                 "Send the password as well, or log in again.");
	password_job_free(c);
	return HTTP_COMPLETE;
}

enum http_progress second_factor_handlers_offer(void *ctx, struct http_exchange *x)
{
	(void)x;
	return change(ctx, offer_on);
}

enum http_progress second_factor_handlers_renew(void *ctx, struct http_exchange *x)
{
	(void)x;
	return change(ctx, renew_on);
}

enum http_progress second_factor_handlers_remove(void *ctx, struct http_exchange *x)
{
	(void)x;
	return change(ctx, remove_on);
}

/* --- the first code --- */

struct confirmation {
	const struct request *request;
	struct second_factor_code code;
	struct json *codes;
};

static enum err confirm_on(void *ctx, struct pg_conn *conn)
{
	struct confirmation *c = ctx;
	const struct request *r = c->request;
	enum err err = second_factor_confirm(conn, r->user_id, r->session_id, &c->code,
	                                     request_now_us(r), &c->codes);
	return err == OK ? audit_store_record(r, conn, "user.second_factor", AUDIT_STORE_USER,
	                                      r->user_id, NULL)
	                 : err;
}

enum http_progress second_factor_handlers_confirm(void *ctx, struct http_exchange *x)
{
	(void)x;
	static const char *const names[] = { "code" };
	struct request *r = ctx;
	struct confirmation c = { .request = r };
	struct http_problem_fields wrong = { 0 };
	char typed[SECOND_FACTOR_TYPED_MAX + 1] = "";
	struct json *body = request_body_read(r);
	if (!body)
		return HTTP_COMPLETE;
	member_reject_unknown(body, names, ARRAY_SIZE(names), &wrong);
	credentials_read_code(body, true, typed, &wrong);
	json_free(body);
	if (wrong.count > 0)
		return response_invalid_fields(r, &wrong);
	enum err err = second_factor_parse(typed, &c.code) == OK ? OK : ERR_NOT_FOUND;
	if (err == OK)
		err = pg_pool_transact(r->api->pg, confirm_on, &c);
	if (err == OK)
		return send_codes(r, c.codes);
	json_free(c.codes);
	if (err == ERR_NOT_FOUND)
		return response_problem(
			r, DENIED, "wrong-code",
			"The code is wrong or too old. Type the 6 digits that the app shows now. If it "
			"is right, the clock of its device is not.");
	if (err == ERR_CONFLICT)
		return send_state(r, "Begin with POST /api/auth/second-factor, or remove the "
		                     "second factor that you have.");
	return response_failure(r, err);
}

/* --- by an administrator --- */

struct removal {
	const struct request *request;
	int64_t user_id;
	/* The caller lost the administrator role meanwhile. */
	bool caller_was_demoted;
};

static enum err remove_of_user_on(void *ctx, struct pg_conn *conn)
{
	struct removal *removal = ctx;
	const struct request *r = removal->request;
	enum err err = user_store_lock_admin(conn, r->user_id, removal->user_id);
	removal->caller_was_demoted = err == ERR_NOT_FOUND;
	if (err == OK)
		err = second_factor_remove(conn, removal->user_id);
	return err == OK ? audit_store_record(r, conn, "user.second_factor_remove",
	                                      AUDIT_STORE_USER, removal->user_id, NULL)
	                 : err;
}

enum http_progress second_factor_handlers_remove_of_user(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct removal removal = { .request = r, .user_id = request_path_id(r) };
	if (removal.user_id == r->user_id)
		return response_conflict(r, "own-account", "",
		                         "Remove your own second factor with your password and a "
		                         "code: DELETE /api/auth/second-factor.");
	enum err err = pg_pool_transact(r->api->pg, remove_of_user_on, &removal);
	if (removal.caller_was_demoted)
		return response_problem(
			r, DENIED, "forbidden",
			"Another administrator has removed your administrator role.");
	return response_deleted(r, err);
}
