/*
 * Who may do what with API keys. Members with the permission see and change the keys that act for them;
 * admins of the workspace see and end all. A key that manages keys (keys:write) makes only keys that have
 * no more than itself, and changes only those and itself. Everything that it can do ends with it.
 */
#include <inttypes.h>
#include <stdio.h>

#include "lib/postgres/pg_pool.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/http/member.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/api_key_store.h"
#include "services/links-api/identity/audit_store.h"
#include "services/links-api/identity/authentication.h"
#include "services/links-api/identity/membership.h"

/* One request about one key. */
struct key_request {
	struct request *request;
	/* Of a change; NULL = none. Borrowed. */
	const struct json *body;
	/* The key, as it is after the request. */
	struct api_key key;
	/* Of a new key and of a rotation. */
	struct secret secret;
	int64_t overlap_s;
	struct http_problem_fields wrong;
	/* Why the request is refused, if wrong is empty. */
	enum { ALLOWED, NOT_MEMBER, NOT_MAKER, BEYOND_KEY, NEEDS_ADMIN, NEEDS_LOGIN } refusal;
};

static int64_t maker_filter(const struct request *r)
{
	return r->role >= WORKSPACE_ADMIN ? 0 : r->user_id;
}

/* ERR_INVALID: why. */
static enum err refuse(struct key_request *k, int refusal)
{
	k->refusal = refusal;
	return ERR_INVALID;
}

/* --- what a key may become --- */

/*
 * The key may have no more than its maker's role allows now, nor than the API key of the request. An
 * instance administrator who is no member could make only keys that never work.
 */
static enum err check(struct key_request *k, struct pg_conn *conn, bool sets_scopes)
{
	const struct request *r = k->request;
	char more[SCOPE_LIST_SIZE];
	struct membership_person maker;
	struct api_key limit;
	enum err err = membership_find(conn, r->user_id, r->workspace_id, &maker);
	if (err == OK && maker.membership.workspace_id == 0)
		return refuse(k, NOT_MEMBER);
	if (err == OK && r->key_id)
		err = api_key_store_get(conn, r->key_id, r->workspace_id, &limit);
	if (err != OK)
		return err;
	unsigned usable = authentication_usable_scopes(maker.membership.role, maker.is_admin);
	api_key_join_scopes(k->key.scopes & ~usable, more);
	if (sets_scopes && *more)
		http_problem_add_field(&k->wrong, "/scopes", "role",
		                       "has %s, which your role does not allow", more);
	if (r->key_id)
		api_key_check_within(&k->key, &limit, &k->wrong);
	return k->wrong.count == 0 ? OK : ERR_INVALID;
}

static enum err audit(const struct key_request *k, struct pg_conn *conn, const char *action)
{
	char scopes[SCOPE_LIST_SIZE];
	api_key_join_scopes(k->key.scopes, scopes);
	struct json *details = json_new_object();
	json_set_text(details, "scopes", scopes);
	json_set_bool(details, "has_tags", *k->key.tags != '\0');
	json_set_time(details, "expires_at", k->key.expires_at_us);
	json_set_int(details, "created_by", k->key.created_by);
	if (k->overlap_s)
		json_set_int(details, "overlap_s", k->overlap_s);
	enum err err =
		audit_store_record(k->request, conn, action, AUDIT_STORE_KEY, k->key.id, details);
	json_free(details);
	return err;
}

/* --- in the transaction. The lock keeps others from changing keys of the sponsor meanwhile. --- */

static enum err create_on(void *ctx, struct pg_conn *conn)
{
	struct key_request *k = ctx;
	const struct request *r = k->request;
	enum err err = membership_lock_workspace(conn, r->workspace_id);
	if (err == OK)
		err = check(k, conn, true);
	if (err == OK)
		err = api_key_store_insert(conn, &k->key, r->sponsor_id, &k->secret);
	return err == OK ? audit(k, conn, "key.create") : err;
}

/* ERR_NOT_FOUND: there is no such key, or the caller does not see it. */
static enum err find(struct key_request *k, struct pg_conn *conn)
{
	const struct request *r = k->request;
	struct http_problem_fields beyond = { 0 };
	struct api_key limit;
	enum err err = membership_lock_workspace(conn, r->workspace_id);
	if (err == OK)
		err = api_key_store_get(conn, request_path_id(r), r->workspace_id, &k->key);
	bool is_seen = err == OK && (maker_filter(r) == 0 || k->key.created_by == r->user_id) &&
	               api_key_is_limited_within(k->key.tags, r->tags ? r->tags : "");
	if (err == OK && !is_seen)
		return ERR_NOT_FOUND;
	if (err != OK || r->key_id == 0 || k->key.id == r->key_id)
		return err;
	if (k->key.made_by_key != r->key_id)
		return refuse(k, BEYOND_KEY);
	err = api_key_store_get(conn, r->key_id, r->workspace_id, &limit);
	if (err == OK)
		api_key_check_within(&k->key, &limit,
		                     &beyond); /* a person may have given it more */
	return beyond.count > 0 ? refuse(k, BEYOND_KEY) : err;
}

/* A member takes a key over for themselves alone: it then acts for them. */
static enum err take_over(struct key_request *k, int64_t created_by)
{
	const struct request *r = k->request;
	if (created_by == 0)
		return k->key.created_by == r->user_id ? OK : refuse(k, NOT_MAKER);
	if (r->key_id)
		return refuse(k, NEEDS_LOGIN);
	if (r->role < WORKSPACE_ADMIN)
		return refuse(k, NEEDS_ADMIN);
	if (created_by != r->user_id)
		http_problem_add_field(&k->wrong, "/created_by", "id",
		                       "must be your own id, %" PRId64
		                       ": admins take keys over for themselves",
		                       r->user_id);
	k->key.created_by = r->user_id;
	return k->wrong.count == 0 ? OK : ERR_INVALID;
}

static enum err change_on(void *ctx, struct pg_conn *conn)
{
	struct key_request *k = ctx;
	struct api_key_change change;
	enum err err = find(k, conn);
	if (err == OK)
		err = api_key_read_change(k->body, request_now_us(k->request), &k->key, &change,
		                          &k->wrong);
	if (err != OK)
		return err;
	k->key = change.to;
	err = take_over(k, change.created_by);
	if (err == OK)
		err = check(k, conn, change.has_scopes);
	if (err == OK)
		err = api_key_store_update(conn, &k->key);
	return err == OK ? audit(k, conn, "key.update") : err;
}

static enum err rotate_on(void *ctx, struct pg_conn *conn)
{
	struct key_request *k = ctx;
	enum err err = find(k, conn);
	if (err == OK && k->key.created_by != k->request->user_id)
		err = refuse(k, NOT_MAKER);
	if (err == OK)
		err = api_key_store_rotate(conn, &k->key, &k->secret, k->overlap_s);
	return err == OK ? audit(k, conn, "key.rotate") : err;
}

static enum err delete_on(void *ctx, struct pg_conn *conn)
{
	struct key_request *k = ctx;
	enum err err = find(k, conn);
	if (err == OK)
		err = api_key_store_delete(conn, k->key.id);
	return err == OK ? audit(k, conn, "key.delete") : err;
}

/* --- responses --- */

static enum http_progress answer_error(struct key_request *k, enum err err)
{
	struct request *r = k->request;
	if (k->wrong.count > 0)
		return response_invalid_fields(r, &k->wrong);
	switch (k->refusal) {
	case NOT_MEMBER:
		return response_problem(
			r, 403, "not-a-member",
			"An API key acts for a member of its workspace, which you are "
			"not. Join it first.");
	case NOT_MAKER:
		return response_problem(
			r, 403, "not-your-key",
			"This API key acts for another member. Delete it, or take it "
			"over first: PATCH {\"created_by\": your id}.");
	case BEYOND_KEY:
		return response_problem(r, 403, "key-limited",
		                        "An API key changes only itself and keys that it made, as "
		                        "long as they have no more than itself.");
	case NEEDS_ADMIN:
		return response_problem(r, 403, "role",
		                        "Only admins of the workspace take keys of others over.");
	case NEEDS_LOGIN:
		return response_problem(
			r, 403, "forbidden",
			"Taking a key over requires an access token or a session, not "
			"an API key.");
	case ALLOWED:
		break;
	}
	if (err == ERR_INVALID)
		return response_conflict(
			r, "too-many-keys", "",
			"There are already 100 API keys, in all workspaces of one sponsor. Delete one first.");
	return err == ERR_NOT_FOUND ? response_not_found(r) : response_failure(r, err);
}

/* The key as a list shows it, and the secret if there is a new one. */
static enum http_progress answer_key(struct key_request *k, unsigned status)
{
	struct request *r = k->request;
	struct pg_conn *conn = NULL;
	struct json *keys = json_new_array();
	enum err err = pg_pool_acquire(r->api->pg, &conn);
	if (err == OK)
		err = api_key_store_list(conn, r->workspace_id, 0, k->key.id, NULL,
		                         request_now_us(r), keys);
	pg_pool_release(r->api->pg, conn);
	if (err == OK && json_count(keys) == 0)
		err = ERR_NOT_FOUND;
	if (err == OK) {
		struct json *response = json_new_object();
		json_set(response, "key", json_share(json_at(keys, 0)));
		if (*k->secret.text)
			json_set_text(response, "secret", k->secret.text);
		response_json(r, status, response);
	}
	json_free(keys);
	return err == OK ? HTTP_COMPLETE : answer_error(k, err);
}

static enum http_progress run(struct key_request *k, pg_pool_work work, unsigned status)
{
	enum err err = pg_pool_transact(k->request->api->pg, work, k);
	return err == OK ? answer_key(k, status) : answer_error(k, err);
}

/* --- requests --- */

enum http_progress api_key_handlers_create(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct key_request k = { .request = r };
	struct json *body = request_body_read(r);
	if (!body)
		return HTTP_COMPLETE;
	enum err err = api_key_read_body(body, request_now_us(r), &k.key, &k.wrong);
	json_free(body);
	if (err != OK)
		return response_invalid_fields(r, &k.wrong);
	k.key.workspace_id = r->workspace_id;
	k.key.created_by = r->user_id;
	k.key.made_by_key = r->key_id;
	secret_generate(SECRET_API_KEY, &k.secret);
	return run(&k, create_on, 201);
}

enum http_progress api_key_handlers_list(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct pg_conn *conn = NULL;
	struct json *keys = json_new_array();
	enum err err = pg_pool_acquire(r->api->pg, &conn);
	if (err == OK)
		err = api_key_store_list(conn, r->workspace_id, maker_filter(r), 0, r->tags,
		                         request_now_us(r), keys);
	pg_pool_release(r->api->pg, conn);
	return response_list(r, err, "keys", keys);
}

enum http_progress api_key_handlers_change(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct key_request k = { .request = ctx };
	struct json *body = request_body_read(k.request);
	if (!body)
		return HTTP_COMPLETE;
	k.body = body;
	enum http_progress progress = run(&k, change_on, 200);
	json_free(body);
	return progress;
}

/* {overlap_s?}: 0. */
static void read_overlap(const struct json *object, struct key_request *k)
{
	static const char *const names[] = { "overlap_s" };
	const struct json *overlap = json_get(object, "overlap_s");
	member_reject_unknown(object, names, 1, &k->wrong);
	bool is_number = overlap && json_type(overlap) == JSON_INT;
	k->overlap_s = is_number ? json_int(overlap) : 0;
	if (overlap && (!is_number || k->overlap_s < 0 || k->overlap_s > API_KEY_OVERLAP_S_MAX))
		http_problem_add_field(&k->wrong, "/overlap_s", "number",
		                       "must be a number of seconds from 0 to %d",
		                       API_KEY_OVERLAP_S_MAX);
}

enum http_progress api_key_handlers_rotate(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct key_request k = { .request = ctx };
	struct json *body = request_body_read(k.request);
	if (!body)
		return HTTP_COMPLETE;
	read_overlap(body, &k);
	json_free(body);
	if (k.wrong.count > 0)
		return response_invalid_fields(k.request, &k.wrong);
	secret_generate(SECRET_API_KEY, &k.secret);
	return run(&k, rotate_on, 200);
}

enum http_progress api_key_handlers_delete(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct key_request k = { .request = ctx };
	enum err err = pg_pool_transact(k.request->api->pg, delete_on, &k);
	return err == OK ? response_no_content(k.request) : answer_error(&k, err);
}
