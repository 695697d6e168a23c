#include "services/links-api/accounts/share_handlers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/links/link_store.h"
#include "lib/postgres/pg_transaction.h"
#include "services/links-api/accounts/credentials.h"
#include "services/links-api/accounts/password_queue.h"
#include "services/links-api/accounts/share_json.h"
#include "services/links-api/http/member.h"
#include "services/links-api/http/request_body.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/audit_store.h"
#include "services/links-api/identity/share_store.h"
#include "services/links-api/identity/user_store.h"

#define PAGE "/app/shared#"
#define URL_SIZE (sizeof(PAGE) + SECRET_SIZE)

/* --- create --- */

static const struct json *member_or_null(const struct json *object, const char *name)
{
	const struct json *value = json_get(object, name);
	return value && json_type(value) != JSON_NULL ? value : NULL;
}

static void read_tag(const struct json *value, struct share *out, struct http_problem_fields *wrong)
{
	const char *tag = member_text(value, "/tag", wrong);
	if (tag && member_is_line(tag, 1, LINK_TAG_CHARS_MAX, "/tag", wrong))
		snprintf(out->tag, sizeof(out->tag), "%s", tag);
}

static void read_subject(const struct json *object, struct share *out,
                         struct http_problem_fields *wrong)
{
	const struct json *link = member_or_null(object, "link_id");
	const struct json *tag = member_or_null(object, "tag");
	if (!link == !tag)
		http_problem_add_field(wrong, "/link_id", link ? "exclusive" : "required",
		                       "exactly one of link_id and tag is required");
	else if (tag)
		read_tag(tag, out, wrong);
	else if (json_type(link) == JSON_INT && json_int(link) > 0)
		out->link_id = json_int(link);
	else
		http_problem_add_field(wrong, "/link_id", "id", "must be the id of a link");
}

static void read_title(const struct json *object, struct share *out,
                       struct http_problem_fields *wrong)
{
	const char *title = member_text_of(object, "title", false, wrong);
	if (title && member_is_line(title, 0, SHARE_TITLE_CHARS_MAX, "/title", wrong))
		snprintf(out->title, sizeof(out->title), "%s", title);
}

/*
 * {link_id | tag, title?, password?, expires_at?}. password: "" = none. ERR_INVALID: wrong lists every
 * invalid member.
 */
static enum err read_share(const struct json *object, int64_t now_us, struct share *out,
                           char password[static PASSWORD_SIZE], struct http_problem_fields *wrong)
{
	static const char *const names[] = { "link_id", "tag", "title", "password", "expires_at" };
	struct share read = { 0 };
	member_reject_unknown(object, names, 5, wrong);
	read_subject(object, &read, wrong);
	read_title(object, &read, wrong);
	member_future_time_of(object, "expires_at", now_us, &read.expires_at_us, wrong);
	password[0] = '\0';
	if (member_or_null(object, "password"))
		credentials_read_new_password(object, "password", password, wrong);
	if (wrong->count > 0)
		return ERR_INVALID;
	*out = read;
	return OK;
}

struct creation {
	struct request *request;
	struct share wanted, created;
	/* "" = none. */
	char password[PASSWORD_SIZE];
	char password_hash[PASSWORD_HASH_SIZE];
	struct secret token;
	/* Unknown, deleted, or owned by another user. */
	bool has_no_link;
};

static void creation_free(struct creation *c)
{
	explicit_bzero(c, sizeof(*c));
	free(c);
}

/* NULL: the response is complete. */
static struct creation *creation_new(struct request *r)
{
	struct json *body = request_body_read(r);
	if (!body)
		return NULL;
	struct creation *c = mem_zero(sizeof(*c));
	struct http_problem_fields wrong = { 0 };
	c->request = r;
	enum err err = read_share(body, request_now_us(r), &c->wanted, c->password, &wrong);
	json_free(body);
	c->wanted.owner_id = r->user_id;
	secret_generate(SECRET_SHARE, &c->token);
	if (err == OK)
		return c;
	response_invalid_fields(r, &wrong);
	creation_free(c);
	return NULL;
}

/* Details name what is shared, but never the tag, which may be personal. */
static enum err audit_creation(const struct creation *c, struct pg_conn *conn)
{
	struct json *details = json_new_object();
	if (c->created.link_id)
		json_set_int(details, "link_id", c->created.link_id);
	json_set_bool(details, "has_password", c->created.has_password);
	json_set_time(details, "expires_at", c->created.expires_at_us);
	enum err err = audit_store_record(c->request, conn, "share.create", AUDIT_STORE_SHARE,
	                                  c->created.id, details);
	json_free(details);
	return err;
}

/* Administrators, too, share only links of their own. */
static enum err lock_link(struct creation *c, struct pg_conn *conn)
{
	struct link link;
	if (c->wanted.link_id == 0)
		return OK;
	enum err err = link_store_lock(conn, c->wanted.link_id, c->request->user_id, &link);
	if (err == OK && link.entry.state == LINK_STATE_DELETED)
		err = ERR_NOT_FOUND;
	c->has_no_link = err == ERR_NOT_FOUND;
	return err;
}

/* Locks the account, so that two concurrent requests cannot exceed the limit of shares. */
static enum err create_on(void *ctx, struct pg_conn *conn)
{
	struct creation *c = ctx;
	enum err err = user_store_lock(conn, c->request->user_id);
	if (err == OK)
		err = lock_link(c, conn);
	if (err == OK)
		err = share_store_create(conn, &c->wanted, &c->token, c->password_hash,
		                         &c->created);
	return err == OK ? audit_creation(c, conn) : err;
}

static enum http_progress send_created(const struct creation *c)
{
	struct request *r = c->request;
	char url[URL_SIZE];
	snprintf(url, sizeof(url), PAGE "%s", c->token.text);
	struct json *response = json_new_object();
	json_set(response, "share", share_json_new(&c->created, r->api->base));
	json_set_text(response, "token", c->token.text);
	json_set_text(response, "url", url);
	return response_json(r, 201, response);
}

static enum http_progress create(struct creation *c)
{
	struct request *r = c->request;
	struct http_problem_fields wrong = { 0 };
	enum err err = pg_transaction_run(r->api->pg, create_on, c);
	if (c->has_no_link) {
		http_problem_add_field(&wrong, "/link_id", "id",
		                       "must be the id of one of your links");
		return response_invalid_fields(r, &wrong);
	}
	if (err == ERR_INVALID)
		return response_conflict(r, "too-many-shares", "",
		                         "This account already has 100 shares. Revoke one first.");
	if (err == ERR_NOT_FOUND)
		return response_unauthorized(r, REQUEST_AUTH_INVALID);
	return err == OK ? send_created(c) : response_failure(r, err);
}

/* Runs in a password thread. */
static void create_job(void *arg)
{
	struct creation *c = arg;
	struct request *r = c->request;
	enum err err =
		password_hash(c->password, r->api->config->password_hash_cost, c->password_hash);
	if (err == OK)
		create(c);
	else
		response_failure(r, err);
	creation_free(c);
	http_exchange_resume(r->exchange);
}

enum http_progress share_handlers_create(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct creation *c = creation_new(r);
	if (!c)
		return HTTP_COMPLETE;
	if (*c->password && password_queue_submit(r, PASSWORD_QUEUE_REGISTRATION, create_job, c))
		return HTTP_PENDING;
	if (!*c->password)
		create(c);
	creation_free(c);
	return HTTP_COMPLETE;
}

/* --- list --- */

enum http_progress share_handlers_list(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct share *shares = mem_array(SHARE_STORE_SHARES_MAX, sizeof(*shares));
	size_t count = 0;
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(r->api->pg, &conn);
	if (err == OK)
		err = share_store_list(conn, r->user_id, shares, &count);
	pg_pool_release(r->api->pg, conn);
	struct json *array = json_new_array();
	for (size_t i = 0; i < count; i++)
		json_append(array, share_json_new(&shares[i], r->api->base));
	free(shares);
	return response_list(r, err, "shares", array);
}

/* --- revoke --- */

static enum err delete_on(void *ctx, struct pg_conn *conn)
{
	const struct request *r = ctx;
	int64_t id = request_path_id(r);
	int64_t link_id;
	enum err err = share_store_delete(conn, r->user_id, id, &link_id);
	if (err != OK)
		return err;
	struct json *details = json_new_object();
	if (link_id)
		json_set_int(details, "link_id", link_id);
	err = audit_store_record(r, conn, "share.delete", AUDIT_STORE_SHARE, id, details);
	json_free(details);
	return err;
}

enum http_progress share_handlers_delete(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	enum err err = pg_transaction_run(r->api->pg, delete_on, r);
	return response_deleted(r, err);
}
