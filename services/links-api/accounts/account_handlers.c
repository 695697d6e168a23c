#include "services/links-api/accounts/account_handlers.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/net/pg_transaction.h"
#include "services/links-api/accounts/account_closing.h"
#include "services/links-api/accounts/audit_store.h"
#include "services/links-api/accounts/credentials.h"
#include "services/links-api/accounts/login_limit.h"
#include "services/links-api/accounts/password_desk.h"
#include "services/links-api/accounts/user_store.h"
#include "services/links-api/answer.h"

/* A request that has to prove its user's password. */
struct errand {
	struct request *request;
	struct login_limit limit;
	struct user user;
	char hash[PASSWORD_HASH_SIZE];
	char password[PASSWORD_SIZE];
	char new_password[PASSWORD_SIZE]; /* "" = the account is to end */
	char new_hash[PASSWORD_HASH_SIZE];
};

static void errand_free(struct errand *e)
{
	explicit_bzero(e, sizeof(*e));
	free(e);
}

/* NULL: the request has been answered. new_name may be NULL. */
static struct errand *errand_new(struct request *r, const char *name, const char *new_name)
{
	struct json *body = request_read_body(r);
	if (!body)
		return NULL;
	struct errand *e = mem_zero(sizeof(*e));
	struct http_problem_fields wrong = { 0 };
	e->request = r;
	enum err err = credentials_read_proof(body, name, new_name, e->password, e->new_password, &wrong);
	json_free(body);
	if (err == OK)
		return e;
	answer_wrong_fields(r, &wrong);
	errand_free(e);
	return NULL;
}

/* --- in a thread for passwords --- */

static enum err write_password_on(void *ctx, struct pg_conn *conn)
{
	const struct errand *e = ctx;
	int64_t id = e->request->user_id;
	enum err err = user_store_set_password(conn, id, e->hash, e->new_hash);
	return err == OK ? request_audit(e->request, conn, "user.password", AUDIT_STORE_USER, id, NULL) : err;
}

static enum err set_password(struct errand *e)
{
	enum err err = password_hash(e->new_password, e->new_hash);
	return err == OK ? pg_transaction_run(e->request->api->pg, write_password_on, e) : err;
}

static enum http_progress answer_wrong_password(struct request *r)
{
	return answer_problem(r, 403, "wrong-password", "The password is not that of this account.");
}

static void job(void *arg)
{
	struct errand *e = arg;
	struct request *r = e->request;
	bool is_right = password_matches(e->password, e->hash);
	login_limit_end(r, &e->limit, !is_right);
	if (is_right) {
		enum err err = *e->new_password ? set_password(e) : account_closing_begin(r, e->hash);
		if (err == ERR_NOT_FOUND)
			answer_wrong_password(r); /* it was another one a moment ago */
		else if (err == ERR_CONFLICT)
			answer_conflict(r, "last-admin", "", "nobody else could administrate the platform then");
		else if (err == OK)
			answer_nothing(r);
		else
			answer_failure(r, err);
	} else {
		answer_wrong_password(r);
	}
	errand_free(e);
	http_exchange_resume(r->exchange);
}

/* --- before that --- */

static enum err find_user(struct errand *e)
{
	struct pg_pool *pool = e->request->api->pg;
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_take(pool, &conn);
	if (err != OK)
		return err;
	err = user_store_get_with_hash(conn, e->request->user_id, &e->user, e->hash);
	pg_pool_give(pool, conn);
	return err;
}

/* Takes e. */
static enum http_progress prove(struct errand *e)
{
	struct request *r = e->request;
	enum err err = find_user(e);
	if (err == ERR_NOT_FOUND)
		answer_login_needed(r, REQUEST_LOGIN_BAD);
	else if (err != OK)
		answer_failure(r, err);
	if (err == OK)
		err = login_limit_begin(r, e->user.email, &e->limit);
	if (err == OK && password_desk_submit(r, job, e))
		return HTTP_PENDING;
	if (err == OK)
		login_limit_end(r, &e->limit, false);
	errand_free(e);
	return HTTP_ANSWERED;
}

enum http_progress account_handlers_set_password(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct errand *e = errand_new(ctx, "current_password", "new_password");
	return e ? prove(e) : HTTP_ANSWERED;
}

enum http_progress account_handlers_delete(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct errand *e = errand_new(ctx, "password", NULL);
	return e ? prove(e) : HTTP_ANSWERED;
}
