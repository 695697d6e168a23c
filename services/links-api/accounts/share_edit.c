/* GET and PATCH of one share. The new password is hashed in a password thread, before the transaction. */
#include <string.h>

#include "lib/postgres/pg_pool.h"
#include "services/links-api/accounts/share_request.h"
#include "services/links-api/http/etag.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/audit_store.h"
#include "services/links-api/identity/password_job.h"

struct edit {
	struct password_job job;
	struct share_request wanted;
	struct share share;
	char password_hash[PASSWORD_HASH_SIZE];
	bool is_stale;
};

/* ERR_CONFLICT: If-Match names another version. */
static enum err find(void *ctx, struct pg_conn *conn)
{
	struct edit *e = ctx;
	const struct request *r = e->job.request;
	const char *if_match = http_exchange_joined_header(r->exchange, "If-Match");
	enum err err = share_lock(conn, r, &e->share);
	e->is_stale = err == OK && !etag_if_match(if_match, e->share.version);
	return e->is_stale ? ERR_CONFLICT : err;
}

static enum err audit(const struct edit *e, struct pg_conn *conn)
{
	const struct share *share = &e->share;
	struct json *details = json_new_object();
	if (share->link_id)
		json_set_int(details, "link_id", share->link_id);
	json_set_bool(details, "has_password", share->has_password);
	json_set_bool(details, "is_password_new", e->wanted.has_password);
	json_set_time(details, "expires_at", share->expires_at_us);
	enum err err = audit_store_record(e->job.request, conn, "share.update", AUDIT_STORE_SHARE,
	                                  share->id, details);
	json_free(details);
	return err;
}

/* Whether the texts and times differ: a change without effect keeps the version. */
static bool differs(const struct share *a, const struct share *b)
{
	return strcmp(a->title, b->title) != 0 || strcmp(a->text, b->text) != 0 ||
	       strcmp(a->range, b->range) != 0 || a->expires_at_us != b->expires_at_us;
}

static enum err change_on(void *ctx, struct pg_conn *conn)
{
	struct edit *e = ctx;
	const struct share_request *wanted = &e->wanted;
	enum err err = find(e, conn);
	if (err != OK)
		return err;
	struct share before = e->share;
	share_request_apply(wanted, &e->share);
	if (!wanted->has_logo && !wanted->has_password && !differs(&before, &e->share))
		return OK;
	err = share_update(conn, &e->share, wanted->has_logo ? &wanted->logo : NULL,
	                   wanted->has_password ? e->password_hash : NULL);
	return err == OK ? audit(e, conn) : err;
}

static enum http_progress answer(struct edit *e, enum err err)
{
	struct request *r = e->job.request;
	if (e->is_stale)
		return response_stale(r, e->share.version, "share");
	if (err != OK)
		return err == ERR_NOT_FOUND ? response_not_found(r) : response_failure(r, err);
	if (!response_add_etag(r, e->share.version))
		return HTTP_COMPLETE;
	struct json *response = json_new_object();
	json_set(response, "share", share_json(&e->share, r->api->base));
	return response_json(r, 200, response);
}

static void change(struct edit *e)
{
	answer(e, pg_pool_transact(e->job.request->api->pg, change_on, e));
}

/* Runs in a password thread. */
static void change_job(void *state)
{
	struct edit *e = state;
	struct request *r = e->job.request;
	enum err err = password_hash(e->wanted.password, r->api->config->password_hash_cost,
	                             e->password_hash);
	if (err == OK)
		change(e);
	else
		response_failure(r, err);
}

enum http_progress share_edit_handle_get(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct edit *e = password_job_new(ctx, sizeof(*e));
	enum err err = pg_pool_transact(e->job.request->api->pg, find, e);
	answer(e, err);
	password_job_free(e);
	return HTTP_COMPLETE;
}

enum http_progress share_edit_handle_change(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct http_problem_fields wrong = { 0 };
	struct json *body = response_if_match_is_valid(r) ? request_body_read(r) : NULL;
	if (!body)
		return HTTP_COMPLETE;
	struct edit *e = password_job_new(r, sizeof(*e));
	enum err err = share_request_read(body, true, request_now_us(r), &e->wanted, &wrong);
	json_free(body);
	if (err != OK) {
		response_invalid_fields(r, &wrong);
	} else if (*e->wanted.password) {
		/* What is refused costs no password thread. */
		err = pg_pool_transact(r->api->pg, find, e);
		if (err == OK)
			return password_job_submit(e, PASSWORD_DOOR_NEW_GUARD, r->user_id, NULL,
			                           change_job);
		answer(e, err);
	} else {
		change(e);
	}
	password_job_free(e);
	return HTTP_COMPLETE;
}
