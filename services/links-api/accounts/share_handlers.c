#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/links/link_store.h"
#include "lib/postgres/pg_pool.h"
#include "services/links-api/accounts/share_request.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/http/member.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/access_token.h"
#include "services/links-api/identity/audit_store.h"
#include "services/links-api/identity/membership.h"
#include "services/links-api/identity/password_job.h"

#define PAGE "/app/shared#"
#define URL_SIZE (sizeof(PAGE) + SECRET_SIZE)
#define LIMITED_NAME_SIZE 32

/* --- create --- */

struct creation {
	struct password_job job;
	struct share_request wanted;
	struct share created;
	char password_hash[PASSWORD_HASH_SIZE];
	struct secret token;
	/* Unknown, deleted, or owned by another user. */
	bool has_no_link;
};

/* Details name what is shared, but never the tag, which may be personal. */
static enum err audit_creation(const struct creation *c, struct pg_conn *conn)
{
	struct json *details = json_new_object();
	if (c->created.link_id)
		json_set_int(details, "link_id", c->created.link_id);
	json_set_bool(details, "has_password", c->created.has_password);
	json_set_time(details, "expires_at", c->created.expires_at_us);
	enum err err = audit_store_record(c->job.request, conn, "share.create", AUDIT_STORE_SHARE,
	                                  c->created.id, details);
	json_free(details);
	return err;
}

/* err: of finding the link. */
static enum err note_link(struct creation *c, enum err err, struct link *link)
{
	err = request_check_link(c->job.request, err, link);
	if (err == OK && link->entry.state == LINK_STATE_DELETED)
		err = ERR_NOT_FOUND;
	c->has_no_link = err == ERR_NOT_FOUND;
	return err;
}

/* Administrators, too, share only links of their own. */
static enum err lock_link(struct creation *c, struct pg_conn *conn)
{
	struct link link;
	if (c->wanted.share.link_id == 0)
		return OK;
	enum err err =
		link_store_lock(conn, c->wanted.share.link_id, c->wanted.share.workspace_id, &link);
	return note_link(c, err, &link);
}

/* Locks the account, so that two concurrent requests cannot exceed the limit of shares. */
static enum err create_on(void *ctx, struct pg_conn *conn)
{
	struct creation *c = ctx;
	enum err err = membership_lock_workspace(conn, c->wanted.share.workspace_id);
	if (err == OK)
		err = lock_link(c, conn);
	if (err == OK)
		err = share_create(conn, &c->wanted.share, &c->wanted.logo, &c->token,
		                   c->password_hash, &c->created);
	return err == OK ? audit_creation(c, conn) : err;
}

static enum http_progress send_created(const struct creation *c)
{
	struct request *r = c->job.request;
	char url[URL_SIZE];
	snprintf(url, sizeof(url), PAGE "%s", c->token.text);
	struct json *response = json_new_object();
	json_set(response, "share", share_json(&c->created, r->api->base));
	json_set_text(response, "token", c->token.text);
	json_set_text(response, "url", url);
	return response_json(r, 201, response);
}

static enum http_progress answer(struct creation *c, enum err err)
{
	struct request *r = c->job.request;
	struct http_problem_fields wrong = { 0 };
	if (c->has_no_link) {
		http_problem_add_field(&wrong, "/link_id", "id",
		                       "must be the id of one of your links");
		return response_invalid_fields(r, &wrong);
	}
	if (err == ERR_INVALID)
		return response_conflict(
			r, "too-many-shares", "",
			"There are already 100 shares, in all workspaces of one sponsor. Revoke one first.");
	if (err == ERR_NOT_FOUND)
		return response_unauthorized(r, REQUEST_AUTH_INVALID);
	return err == OK ? send_created(c) : response_failure(r, err);
}

static void create(struct creation *c)
{
	answer(c, pg_pool_transact(c->job.request->api->pg, create_on, c));
}

/* What create_on refuses, before the password takes the time of a thread. */
static enum err check_room(struct creation *c)
{
	struct pg_pool *pool = c->job.request->api->pg;
	struct pg_conn *conn = NULL;
	struct link link;
	enum err err = pg_pool_acquire(pool, &conn);
	if (err == OK)
		err = share_check_room(conn, c->wanted.share.sponsor_id);
	if (err == OK && c->wanted.share.link_id) {
		err = link_store_get(conn, c->wanted.share.link_id, c->wanted.share.workspace_id,
		                     &link);
		err = note_link(c, err, &link);
	}
	pg_pool_release(pool, conn);
	return err;
}

/* Runs in a password thread. */
static void create_job(void *state)
{
	struct creation *c = state;
	struct request *r = c->job.request;
	enum err err = password_hash(c->wanted.password, r->api->config->password_hash_cost,
	                             c->password_hash);
	if (err == OK)
		create(c);
	else
		response_failure(r, err);
}

static bool may_share_tag(const struct request *r, const struct share *wanted)
{
	struct link_tags tags = { .count = 1 };
	snprintf(tags.tag[0], LINK_TAG_SIZE, "%s", wanted->tag);
	return wanted->link_id || request_sees_tags(r, &tags);
}

enum http_progress share_handlers_create(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct http_problem_fields wrong = { 0 };
	struct json *body = request_body_read(r);
	if (!body)
		return HTTP_COMPLETE;
	struct creation *c = password_job_new(r, sizeof(*c));
	enum err err = share_request_read(body, false, request_now_us(r), &c->wanted, &wrong);
	json_free(body);
	c->wanted.share.workspace_id = r->workspace_id;
	c->wanted.share.sponsor_id = r->sponsor_id;
	c->wanted.share.created_by = r->user_id;
	secret_generate(SECRET_SHARE, &c->token);
	if (err == OK && !may_share_tag(r, &c->wanted.share)) {
		response_key_limited(r, "It shares only these tags.");
	} else if (err == OK && *c->wanted.password) {
		err = check_room(c);
		if (err == OK)
			return password_job_submit(c, PASSWORD_DOOR_NEW_GUARD, r->user_id, NULL,
			                           create_job);
		answer(c, err);
	} else if (err == OK) {
		create(c);
	} else {
		response_invalid_fields(r, &wrong);
	}
	password_job_free(c);
	return HTTP_COMPLETE;
}

/* --- open --- */

/* A reader who opens a share. */
struct opening {
	struct password_job job;
	struct share share;
	uint8_t token_hash[DIGEST_SIZE];
	char password[PASSWORD_SIZE];
	/* "" = the share has no password. */
	char password_hash[PASSWORD_HASH_SIZE];
};

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

static enum err find(struct opening *o)
{
	struct pg_pool *pool = o->job.request->api->pg;
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(pool, &conn);
	if (err == OK)
		err = share_find(conn, o->token_hash, &o->share, o->password_hash);
	pg_pool_release(pool, conn);
	return err;
}

static enum err mark_used(const struct opening *o)
{
	struct pg_pool *pool = o->job.request->api->pg;
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(pool, &conn);
	if (err == OK)
		err = share_mark_used(conn, o->share.id);
	pg_pool_release(pool, conn);
	return err;
}

static enum http_progress send_access(const struct opening *o)
{
	struct request *r = o->job.request;
	char token[ACCESS_TOKEN_SIZE];
	enum err err = mark_used(o);
	if (err == OK)
		err = access_token_issue_for_share(access_token_secret(r->api->secrets, 0),
		                                   o->token_hash, o->share.password_generation,
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
static void check_job(void *state)
{
	struct opening *o = state;
	if (password_job_matches(&o->job, o->password, o->password_hash))
		send_access(o);
	else
		send_password_needed(o->job.request, true);
}

/*
 * Wrong passwords of a share are limited like those of an account. Its name there has no "@", so it
 * is no account's.
 */
static enum http_progress check(struct opening *o)
{
	char name[LIMITED_NAME_SIZE];
	snprintf(name, sizeof(name), "share:%" PRId64, o->share.id);
	return password_job_submit(o, PASSWORD_DOOR_SHARE, o->share.sponsor_id, name, check_job);
}

enum http_progress share_handlers_access(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct http_problem_fields wrong = { 0 };
	struct json *body = request_body_read(r);
	if (!body)
		return HTTP_COMPLETE;
	struct opening *o = password_job_new(r, sizeof(*o));
	enum err err = read_access(body, o->token_hash, o->password, &wrong);
	json_free(body);
	if (err == OK)
		err = find(o);
	if (err == OK && *o->password_hash && *o->password)
		return check(o);
	if (wrong.count > 0)
		response_invalid_fields(r, &wrong);
	else if (err == ERR_NOT_FOUND)
		response_problem(
			r, 404, "no-share",
			"This share does not exist or has ended. Ask its owner for a new one.");
	else if (err != OK)
		response_failure(r, err);
	else if (*o->password_hash)
		send_password_needed(r, false);
	else
		send_access(o);
	password_job_free(o);
	return HTTP_COMPLETE;
}
