#include "services/links-api/accounts/account_handlers.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/postgres/pg_transaction.h"
#include "services/links-api/accounts/account_deletion.h"
#include "services/links-api/accounts/credentials.h"
#include "services/links-api/accounts/login_limiter.h"
#include "services/links-api/accounts/password_queue.h"
#include "services/links-api/accounts/settings_request.h"
#include "services/links-api/accounts/user_json.h"
#include "services/links-api/http/request_body.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/audit_store.h"
#include "services/links-api/identity/session_cookie.h"
#include "services/links-api/identity/session_store.h"
#include "services/links-api/identity/user_store.h"
#include "services/links-api/statistics/zone_names.h"

/* A request that requires the caller's password. */
struct password_check {
	struct request *request;
	struct login_attempt limit;
	struct user user;
	char hash[PASSWORD_HASH_SIZE];
	char password[PASSWORD_SIZE];
	/* "" = delete the account. */
	char new_password[PASSWORD_SIZE];
	char new_hash[PASSWORD_HASH_SIZE];
};

static void password_check_free(struct password_check *c)
{
	explicit_bzero(c, sizeof(*c));
	free(c);
}

/* NULL: the response is complete. new_name may be NULL. */
static struct password_check *password_check_new(struct request *r, const char *name,
                                                 const char *new_name)
{
	struct json *body = request_body_read(r);
	if (!body)
		return NULL;
	struct password_check *c = mem_zero(sizeof(*c));
	struct http_problem_fields wrong = { 0 };
	c->request = r;
	enum err err = credentials_read_password(body, name, new_name, c->password, c->new_password,
	                                         &wrong);
	json_free(body);
	if (err == OK)
		return c;
	response_invalid_fields(r, &wrong);
	password_check_free(c);
	return NULL;
}

/* Runs in a password thread. */

static enum err write_password_on(void *ctx, struct pg_conn *conn)
{
	const struct password_check *c = ctx;
	int64_t id = c->request->user_id;
	enum err err = user_store_set_password(conn, id, c->hash, c->new_hash);
	if (err == OK)
		err = session_store_delete_all(conn, id);
	return err == OK ? audit_store_record(c->request, conn, "user.password", AUDIT_STORE_USER,
	                                      id, NULL)
	                 : err;
}

static enum err set_password(struct password_check *c)
{
	enum err err = password_hash(c->new_password, c->request->api->config->password_hash_cost,
	                             c->new_hash);
	return err == OK ? pg_transaction_run(c->request->api->pg, write_password_on, c) : err;
}

static enum http_progress send_wrong_password(struct request *r)
{
	return response_problem(r, 403, "wrong-password", "Wrong password.");
}

/* Sessions have ended, also the one of this request. */
static void send_done(struct request *r)
{
	if (r->session_id)
		session_cookie_clear(r);
	response_no_content(r);
}

static void check_job(void *arg)
{
	struct password_check *c = arg;
	struct request *r = c->request;
	bool is_correct =
		password_matches(c->password, c->hash, r->api->config->password_hash_cost);
	login_limiter_end(r, &c->limit, is_correct ? LOGIN_RESULT_RIGHT : LOGIN_RESULT_WRONG);
	if (is_correct) {
		enum err err =
			*c->new_password ? set_password(c) : account_deletion_run(r, c->hash);
		if (err == ERR_NOT_FOUND)
			send_wrong_password(r); /* it has changed since find_user */
		else if (err == ERR_CONFLICT)
			response_conflict(
				r, "last-admin", "",
				"You are the last administrator. Promote another account first.");
		else if (err == OK)
			send_done(r);
		else
			response_failure(r, err);
	} else {
		send_wrong_password(r);
	}
	password_check_free(c);
	http_exchange_resume(r->exchange);
}

static enum err find_user(struct password_check *c)
{
	struct pg_pool *pool = c->request->api->pg;
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(pool, &conn);
	if (err != OK)
		return err;
	err = user_store_get_with_hash(conn, c->request->user_id, &c->user, c->hash);
	pg_pool_release(pool, conn);
	return err;
}

/* Takes ownership of c. */
static enum http_progress submit(struct password_check *c)
{
	struct request *r = c->request;
	enum err err = find_user(c);
	if (err == ERR_NOT_FOUND)
		response_unauthorized(r, REQUEST_AUTH_INVALID);
	else if (err != OK)
		response_failure(r, err);
	if (err == OK)
		err = login_limiter_begin_with_token(r, &c->limit);
	enum password_queue_kind kind =
		c->limit.has_priority ? PASSWORD_QUEUE_PRIORITY : PASSWORD_QUEUE_LOGIN;
	if (err == OK && password_queue_submit(r, kind, check_job, c))
		return HTTP_PENDING;
	if (err == OK)
		login_limiter_end(r, &c->limit, LOGIN_RESULT_ABANDONED);
	password_check_free(c);
	return HTTP_COMPLETE;
}

enum http_progress account_handlers_set_password(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct password_check *c = password_check_new(ctx, "current_password", "new_password");
	return c ? submit(c) : HTTP_COMPLETE;
}

enum http_progress account_handlers_delete(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct password_check *c = password_check_new(ctx, "password", NULL);
	return c ? submit(c) : HTTP_COMPLETE;
}

struct update {
	const struct request *request;
	struct settings_change change;
	/* After the change. */
	struct user user;
	bool has_unknown_zone;
};

/* The lock keeps another request from changing other members meanwhile. */
static enum err change_on(void *ctx, struct pg_conn *conn)
{
	struct update *u = ctx;
	const struct request *r = u->request;
	const char *tz = u->change.settings.tz;
	enum err err = *tz ? zone_names_check(r->api->zones, conn, tz) : OK;
	u->has_unknown_zone = err == ERR_NOT_FOUND;
	if (err == OK)
		err = user_store_lock(conn, r->user_id);
	if (err == OK)
		err = user_store_get(conn, r->user_id, &u->user);
	if (err != OK || !settings_request_apply(&u->change, &u->user))
		return err;
	err = user_store_set_settings(conn, &u->user);
	return err == OK ? audit_store_record(r, conn, "user.settings", AUDIT_STORE_USER,
	                                      r->user_id, NULL)
	                 : err;
}

enum http_progress account_handlers_change(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct update update = { .request = r };
	struct http_problem_fields wrong = { 0 };
	struct json *body = request_body_read(r);
	if (!body)
		return HTTP_COMPLETE;
	enum err err = settings_request_read(body, &update.change, &wrong);
	json_free(body);
	if (err != OK)
		return response_invalid_fields(r, &wrong);
	err = pg_transaction_run(r->api->pg, change_on, &update);
	if (update.has_unknown_zone) {
		http_problem_add_field(&wrong, "/tz", "time-zone", USER_SETTINGS_TZ_DETAIL);
		return response_invalid_fields(r, &wrong);
	}
	if (err == ERR_NOT_FOUND)
		return response_unauthorized(r, REQUEST_AUTH_INVALID);
	return err == OK ? response_json(r, 200, user_json_new(&update.user))
	                 : response_failure(r, err);
}
