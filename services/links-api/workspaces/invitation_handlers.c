#include <stdio.h>
#include <string.h>

#include "lib/base/mail_address.h"
#include "lib/mail/mail_outbox.h"
#include "lib/postgres/pg_pool.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/http/member.h"
#include "services/links-api/http/page_url.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/audit_store.h"
#include "services/links-api/identity/membership.h"
#include "services/links-api/identity/secret.h"
#include "services/links-api/mail/mail_queue.h"
#include "services/links-api/workspaces/invitation.h"
#include "services/links-api/workspaces/member_change.h"

#define PAGE "/app/invitation#"
#define URL_SIZE (sizeof(PAGE) + SECRET_SIZE)

/* --- for those who invite --- */

static struct json *invitation_json(const struct invitation *i)
{
	struct json *object = json_new_object();
	json_set_int(object, "id", i->id);
	json_set_text(object, "email", i->email);
	json_set_text(object, "role", i->workspace_id ? membership_role_name(i->role) : NULL);
	json_set_int(object, "invited_by", i->invited_by);
	json_set_text(object, "state", i->state);
	json_set_time(object, "expires_at", i->expires_at_us);
	json_set_time(object, "created_at", i->created_at_us);
	return object;
}

static struct json *row_json(const struct request *r, const struct pg_result *rows, size_t row)
{
	(void)r;
	struct invitation invitation;
	invitation_read(rows, row, &invitation);
	return invitation_json(&invitation);
}

/* An endpoint of administrators is in no workspace: workspace_id is 0. */
enum http_progress invitation_handlers_list(void *ctx, struct http_exchange *x)
{
	(void)x;
	const struct request *r = ctx;
	struct pg_params params = { 0 };
	pg_params_int(&params, r->workspace_id);
	return response_rows(ctx, "invitations",
	                     INVITATION_SELECT "WHERE coalesce(i.workspace_id, 0) = $1 "
	                                       "AND coalesce(i.ended, 'void') = 'void' "
	                                       "ORDER BY i.id DESC LIMIT 1000",
	                     &params, row_json);
}

struct creation {
	struct request *request;
	struct invitation wanted, created;
	struct secret token;
	/* Relative: this server may have another address than short links. */
	char url[URL_SIZE];
	bool is_forbidden, is_member;
};

/* Someone may have lost their role since the request was authenticated. */
static enum err check_inviter(struct creation *c, struct pg_conn *conn)
{
	const struct request *r = c->request;
	struct workspace workspace;
	struct member_change change = { .user_id = 0, .wanted = c->wanted.role };
	enum err err = workspace_store_lock(conn, r->workspace_id, &workspace);
	if (err == OK)
		err = member_change_read_caller(r, conn, &change.caller);
	c->is_forbidden = err == OK && !member_change_is_allowed(&change);
	if (c->is_forbidden)
		return ERR_CONFLICT;
	return err == OK ? membership_lock_workspace(conn, r->workspace_id) : err;
}

/* In the instance, everybody with an account is. */
static enum err check_is_new(struct creation *c, struct pg_conn *conn)
{
	struct pg_params params = { 0 };
	int64_t count = 0;
	pg_params_text(&params, c->wanted.email);
	pg_params_int(&params, c->wanted.workspace_id);
	enum err err =
		pg_conn_query_int(conn,
	                          "SELECT count(*) FROM users u WHERE lower(email) = lower($1) "
	                          "AND ($2::bigint = 0 OR EXISTS (SELECT FROM members m "
	                          "WHERE m.user_id = u.id AND m.workspace_id = $2))",
	                          &params, &count);
	c->is_member = err == OK && count > 0;
	return c->is_member ? ERR_CONFLICT : err;
}

/* In the language of the inviter. */
static enum err send_mail(const struct creation *c, struct pg_conn *conn)
{
	const struct request *r = c->request;
	char url[PAGE_URL_SIZE];
	struct user inviter;
	enum err err = user_store_get(conn, r->user_id, &inviter);
	if (err != OK)
		return err;
	page_url(r->api->config, "invitation", c->token.text, url);
	struct json *data = json_new_object();
	json_set_text(data, "workspace", c->created.workspace);
	json_set_text(data, "inviter", *inviter.name ? inviter.name : inviter.email);
	json_set_text(data, "url", url);
	json_set_time(data, "expires_at", c->created.expires_at_us);
	err = mail_outbox_add(conn, &(struct mail){ .kind = MAIL_INVITATION,
	                                            .to = c->created.email,
	                                            .locale = inviter.settings.locale,
	                                            .data = data,
	                                            .workspace_id = r->workspace_id });
	json_free(data);
	return err;
}

/* Details name no address. */
static enum err create_on(void *ctx, struct pg_conn *conn)
{
	struct creation *c = ctx;
	const struct request *r = c->request;
	enum err err = r->workspace_id ? check_inviter(c, conn)
	                               : user_store_lock_admin(conn, r->user_id, r->user_id);
	if (err == OK)
		err = check_is_new(c, conn);
	if (err == OK)
		err = invitation_create(conn, &c->wanted, r->sponsor_id, c->token.hash,
		                        &c->created);
	if (err == OK && mail_queue_is_on(r))
		err = send_mail(c, conn);
	return err == OK ? audit_store_record(r, conn, "invitation.create", AUDIT_STORE_INVITATION,
	                                      c->created.id, NULL)
	                 : err;
}

static enum http_progress send_created(struct request *r, const struct creation *c)
{
	struct json *response = json_new_object();
	json_set(response, "invitation", invitation_json(&c->created));
	json_set_text(response, "token", c->token.text);
	json_set_text(response, "url", c->url);
	return response_json(r, 201, response);
}

static enum http_progress answer_creation(struct request *r, const struct creation *c, enum err err)
{
	if (c->is_forbidden)
		return response_problem(r, 403, "role",
		                        "Only owners of the workspace invite owners.");
	if (c->is_member && r->workspace_id)
		return response_conflict(r, "already-member", "/email",
		                         "belongs to a member of the workspace");
	if (c->is_member)
		return response_conflict(r, "email-taken", "/email",
		                         "already belongs to an account");
	if (err == ERR_INVALID)
		return response_conflict(r, "too-many-invitations", "",
		                         "100 invitations are open already. Revoke one first.");
	if (err == ERR_NOT_FOUND)
		return response_not_found(r);
	return err == OK ? send_created(r, c) : response_failure(r, err);
}

static void read_creation(const struct json *body, bool is_of_workspace, struct creation *out,
                          struct http_problem_fields *wrong)
{
	static const char *const names[] = { "email", "role" };
	member_reject_unknown(body, names, is_of_workspace ? 2 : 1, wrong);
	const char *email = member_text_of(body, "email", true, wrong);
	if (email && mail_address_is_valid(email))
		snprintf(out->wanted.email, sizeof(out->wanted.email), "%s", email);
	else if (email)
		http_problem_add_field(wrong, "/email", "email",
		                       "must be an e-mail address of at most %d ASCII characters",
		                       USER_EMAIL_MAX);
	const char *role = is_of_workspace ? member_text_of(body, "role", true, wrong) : NULL;
	if (role && membership_parse_role(role, &out->wanted.role) != OK)
		http_problem_add_field(wrong, "/role", "choice",
		                       "must be viewer, editor, admin or owner");
}

enum http_progress invitation_handlers_create(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct creation c = { .request = r };
	struct http_problem_fields wrong = { 0 };
	struct json *body = request_body_read(r);
	if (!body)
		return HTTP_COMPLETE;
	read_creation(body, r->workspace_id != 0, &c, &wrong);
	json_free(body);
	if (wrong.count > 0)
		return response_invalid_fields(r, &wrong);
	c.wanted.workspace_id = r->workspace_id;
	c.wanted.invited_by = r->user_id;
	struct rate_limit_rule rule;
	int64_t reset_s = 0;
	if (mail_queue_is_on(r) &&
	    mail_queue_count(r, c.wanted.email, &rule, &reset_s) == ERR_LIMIT)
		return response_rate_limited(r, &rule, reset_s);
	secret_generate(SECRET_INVITATION, &c.token);
	snprintf(c.url, sizeof(c.url), PAGE "%s", c.token.text);
	return answer_creation(r, &c, pg_pool_transact(r->api->pg, create_on, &c));
}

enum http_progress invitation_handlers_delete(void *ctx, struct http_exchange *x)
{
	(void)x;
	const struct request *r = ctx;
	return response_deleted(
		ctx, audit_store_delete(ctx, request_path_id(ctx), r->workspace_id,
	                                "UPDATE invitations SET ended = 'revoked' "
	                                "WHERE id = $1 AND coalesce(ended, 'void') = 'void' "
	                                "AND coalesce(workspace_id, 0) = $2 RETURNING 0",
	                                "invitation.delete", AUDIT_STORE_INVITATION));
}

/* --- for those who are invited --- */

/* {token}. False: the request has been answered. */
static bool read_token(struct request *r, uint8_t hash[static DIGEST_SIZE])
{
	static const char *const names[] = { "token" };
	struct http_problem_fields wrong = { 0 };
	struct json *body = request_body_read(r);
	if (!body)
		return false;
	member_reject_unknown(body, names, 1, &wrong);
	const char *token = member_text_of(body, "token", true, &wrong);
	if (token)
		secret_hash(token, hash);
	json_free(body);
	if (wrong.count > 0)
		response_invalid_fields(r, &wrong);
	return wrong.count == 0;
}

/* "b…@example.com": enough for who is meant, too little for who found the link. */
static void set_email_hint(struct json *object, const struct invitation *i)
{
	char hint[USER_EMAIL_SIZE + 8];
	const char *at = strchr(i->email, '@');
	snprintf(hint, sizeof(hint), "%.1s…%s", i->email, at ? at : "");
	json_set_text(object, "email_hint", hint);
}

static struct json *look_json(const struct invitation *i)
{
	struct json *workspace = NULL;
	struct json *object = json_new_object();
	if (i->workspace_id) {
		workspace = json_new_object();
		json_set_int(workspace, "id", i->workspace_id);
		json_set_text(workspace, "name", i->workspace);
		json_set_bool(workspace, "requires_second_factor", i->requires_second_factor);
		json_set(object, "workspace", workspace);
		json_set_text(object, "role", membership_role_name(i->role));
	} else {
		json_set_null(object, "workspace");
		json_set_null(object, "role");
	}
	json_set_text(object, "invited_by_name", i->inviter);
	set_email_hint(object, i);
	json_set_time(object, "expires_at", i->expires_at_us);
	return object;
}

enum http_progress invitation_handlers_look(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct invitation invitation = { 0 };
	uint8_t hash[DIGEST_SIZE];
	struct pg_conn *conn = NULL;
	if (!read_token(r, hash))
		return HTTP_COMPLETE;
	enum err err = pg_pool_acquire(r->api->pg, &conn);
	if (err == OK)
		err = invitation_find(conn, hash, &invitation);
	pg_pool_release(r->api->pg, conn);
	return err == OK ? response_json(r, 200, look_json(&invitation))
	                 : invitation_refuse(r, &invitation, false, err);
}

struct acceptance {
	const struct request *request;
	uint8_t hash[DIGEST_SIZE];
	struct invitation invitation;
	bool is_for_another;
};

static enum err accept_on(void *ctx, struct pg_conn *conn)
{
	struct acceptance *a = ctx;
	struct user user;
	enum err err = invitation_find(conn, a->hash, &a->invitation);
	if (err == OK)
		err = user_store_get(conn, a->request->user_id, &user);
	a->is_for_another = err == OK && !invitation_is_for(&a->invitation, user.email);
	if (a->is_for_another)
		return ERR_CONFLICT;
	return err == OK ? invitation_take(a->request, conn, &a->invitation) : err;
}

enum http_progress invitation_handlers_accept(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct acceptance a = { .request = r };
	if (!read_token(r, a.hash))
		return HTTP_COMPLETE;
	enum err err = pg_pool_transact(r->api->pg, accept_on, &a);
	return err == OK ? response_json(r, 200, look_json(&a.invitation))
	                 : invitation_refuse(r, &a.invitation, a.is_for_another, err);
}
