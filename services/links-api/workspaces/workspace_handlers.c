#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/postgres/pg_pool.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/http/member.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/audit_store.h"
#include "services/links-api/identity/membership.h"
#include "services/links-api/identity/user_store.h"
#include "services/links-api/workspaces/workspace_closing.h"
#include "services/links-api/workspaces/workspace_store.h"

static struct json *workspace_json(const struct workspace *w)
{
	struct json *object = json_new_object();
	json_set_int(object, "id", w->id);
	json_set_text(object, "name", w->name);
	json_set_text(object, "role", membership_role_name(w->role));
	json_set_int(object, "sponsor_id", w->sponsor_id);
	json_set_int(object, "members", w->members);
	json_set_bool(object, "requires_second_factor", w->requires_second_factor);
	json_set_bool(object, "default_forward_query", w->default_forward_query);
	json_set_bool(object, "default_forward_path", w->default_forward_path);
	json_set_time(object, "created_at", w->created_at_us);
	json_set_time(object, "deleted_at", w->deleted_at_us);
	return object;
}

static enum http_progress send_workspace(struct request *r, unsigned status,
                                         const struct workspace *workspace)
{
	struct json *response = json_new_object();
	json_set(response, "workspace", workspace_json(workspace));
	return response_json(r, status, response);
}

/* --- those of a person --- */

static struct json *row_json(const struct request *r, const struct pg_result *rows, size_t row)
{
	(void)r;
	struct workspace workspace;
	workspace_store_read(rows, row, &workspace);
	return workspace_json(&workspace);
}

#define SELECT_OF_PERSON                                                                           \
	"SELECT " WORKSPACE_STORE_COLUMNS(                                                         \
		"m.role") " FROM members m JOIN workspaces w ON w.id = m.workspace_id "            \
			  "WHERE m.user_id = $1 ORDER BY w.id LIMIT $2"

static void set_person(struct pg_params *params, int64_t user_id)
{
	pg_params_int(params, user_id);
	pg_params_int(params, WORKSPACE_STORE_MEMBERSHIPS_MAX + WORKSPACE_STORE_SPONSORED_MAX);
}

enum http_progress workspace_handlers_list(void *ctx, struct http_exchange *x)
{
	(void)x;
	const struct request *r = ctx;
	struct pg_params params = { 0 };
	set_person(&params, r->user_id);
	return response_rows(ctx, "workspaces", SELECT_OF_PERSON, &params, row_json);
}

enum http_progress workspace_handlers_of_user(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct pg_params params = { 0 };
	struct pg_conn *conn = NULL;
	struct pg_result *rows = NULL;
	struct user user;
	set_person(&params, request_path_id(r));
	enum err err = pg_pool_acquire(r->api->pg, &conn);
	if (err == OK)
		err = user_store_get(conn, request_path_id(r), &user);
	if (err == OK)
		err = pg_conn_query(conn, SELECT_OF_PERSON, &params, &rows);
	pg_pool_release(r->api->pg, conn);
	if (err != OK)
		return err == ERR_NOT_FOUND ? response_not_found(r) : response_failure(r, err);
	struct json *response = json_new_object(), *workspaces = json_new_array();
	for (size_t i = 0; i < pg_result_count(rows); i++)
		json_append(workspaces, row_json(r, rows, i));
	pg_result_free(rows);
	json_set(response, "user", user_store_json_for_admin(&user));
	json_set(response, "workspaces", workspaces);
	return response_json(r, 200, response);
}

/* One request: its input and its result. */
struct change {
	struct request *request;
	bool has_name;
	char name[WORKSPACE_STORE_NAME_SIZE];
	/* One that is not given stays as it is. */
	struct change_switch {
		bool is_given, is_on;
	} second_factor, forward_query, forward_path;
	struct workspace workspace;
	/* Of a deletion. */
	bool is_other_name;
};

static void read_name(const struct json *object, bool is_required, struct change *out,
                      struct http_problem_fields *wrong)
{
	const char *name = member_text_of(object, "name", is_required, wrong);
	out->has_name =
		name && member_is_line(name, 1, WORKSPACE_STORE_NAME_CHARS_MAX, "/name", wrong);
	if (out->has_name)
		snprintf(out->name, sizeof(out->name), "%s", name);
}

/* {name}. False: the request has been answered. */
static bool read_only_name(struct request *r, struct change *out)
{
	static const char *const names[] = { "name" };
	struct http_problem_fields wrong = { 0 };
	struct json *body = request_body_read(r);
	if (!body)
		return false;
	out->request = r;
	member_reject_unknown(body, names, 1, &wrong);
	read_name(body, true, out, &wrong);
	json_free(body);
	if (wrong.count > 0)
		response_invalid_fields(r, &wrong);
	return wrong.count == 0;
}

/* details may be NULL. */
static enum err record(const struct change *c, struct pg_conn *conn, const char *action,
                       const struct json *details)
{
	return audit_store_record(c->request, conn, action, AUDIT_STORE_WORKSPACE,
	                          c->request->workspace_id, details);
}

static enum err create_on(void *ctx, struct pg_conn *conn)
{
	struct change *c = ctx;
	struct request *r = c->request;
	enum err err = workspace_store_create(conn, r->user_id, c->name, &r->workspace_id);
	if (err == OK)
		err = workspace_store_get(conn, r->workspace_id, &c->workspace);
	c->workspace.role = WORKSPACE_OWNER;
	return err == OK ? record(c, conn, "workspace.create", NULL) : err;
}

enum http_progress workspace_handlers_create(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct change c = { 0 };
	if (!r->has_admin_role && strcmp(r->api->config->workspace_creation, "admins") == 0)
		return response_problem(r, 403, "forbidden",
		                        "Only administrators of this instance make workspaces. "
		                        "Ask one of them.");
	if (!read_only_name(r, &c))
		return HTTP_COMPLETE;
	enum err err = pg_pool_transact(r->api->pg, create_on, &c);
	if (err == ERR_INVALID)
		return response_conflict(r, "too-many-workspaces", "",
		                         "You answer for 50 workspaces already. Delete one, or "
		                         "hand one over, first.");
	if (err == ERR_NOT_FOUND)
		return response_unauthorized(r, REQUEST_AUTH_INVALID);
	return err == OK ? send_workspace(r, 201, &c.workspace) : response_failure(r, err);
}

/* --- one --- */

enum http_progress workspace_handlers_get(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct workspace workspace;
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(r->api->pg, &conn);
	if (err == OK)
		err = workspace_store_get(conn, r->workspace_id, &workspace);
	pg_pool_release(r->api->pg, conn);
	if (err == ERR_NOT_FOUND)
		return response_not_found(r);
	workspace.role = r->role;
	return err == OK ? send_workspace(r, 200, &workspace) : response_failure(r, err);
}

static void read_switch(const struct json *object, const char *name, struct change_switch *out,
                        struct http_problem_fields *wrong)
{
	char pointer[HTTP_PROBLEM_POINTER_SIZE];
	const struct json *value = json_get(object, name);
	member_pointer(name, pointer);
	out->is_given = value && json_type(value) == JSON_BOOL;
	if (out->is_given)
		out->is_on = json_bool(value);
	else if (value)
		http_problem_add_field(wrong, pointer, "type", "must be true or false");
}

static bool read_change(struct request *r, struct change *out)
{
	static const char *const names[] = { "name", "requires_second_factor",
		                             "default_forward_query", "default_forward_path" };
	struct http_problem_fields wrong = { 0 };
	struct json *body = request_body_read(r);
	if (!body)
		return false;
	out->request = r;
	member_reject_unknown(body, names, ARRAY_SIZE(names), &wrong);
	read_name(body, false, out, &wrong);
	read_switch(body, "requires_second_factor", &out->second_factor, &wrong);
	read_switch(body, "default_forward_query", &out->forward_query, &wrong);
	read_switch(body, "default_forward_path", &out->forward_path, &wrong);
	json_free(body);
	if (wrong.count > 0)
		response_invalid_fields(r, &wrong);
	return wrong.count == 0;
}

/* A change goes into details, for the audit log. */
static void apply_switch(const struct change_switch *given, const char *name, bool *value,
                         struct json *details)
{
	if (!given->is_given || given->is_on == *value)
		return;
	*value = given->is_on;
	json_set_bool(details, name, given->is_on);
}

static enum err write_change(struct change *c, struct pg_conn *conn, struct json *details)
{
	struct workspace *w = &c->workspace;
	if (c->has_name && strcmp(c->name, w->name) != 0) {
		snprintf(w->name, sizeof(w->name), "%s", c->name);
		json_set_bool(details, "renamed", true);
	}
	apply_switch(&c->second_factor, "requires_second_factor", &w->requires_second_factor,
	             details);
	apply_switch(&c->forward_query, "default_forward_query", &w->default_forward_query,
	             details);
	apply_switch(&c->forward_path, "default_forward_path", &w->default_forward_path, details);
	w->role = c->request->role;
	if (json_count(details) == 0)
		return OK;
	enum err err = workspace_store_change(conn, w);
	return err == OK ? record(c, conn, "workspace.update", details) : err;
}

static enum err change_on(void *ctx, struct pg_conn *conn)
{
	struct change *c = ctx;
	enum err err = workspace_store_lock(conn, c->request->workspace_id, &c->workspace);
	if (err != OK)
		return err;
	struct json *details = json_new_object();
	err = write_change(c, conn, details);
	json_free(details);
	return err;
}

enum http_progress workspace_handlers_change(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct change c = { 0 };
	if (!read_change(r, &c))
		return HTTP_COMPLETE;
	enum err err = pg_pool_transact(r->api->pg, change_on, &c);
	if (err == ERR_NOT_FOUND)
		return response_not_found(r);
	return err == OK ? send_workspace(r, 200, &c.workspace) : response_failure(r, err);
}

/* --- its end --- */

static enum err delete_on(void *ctx, struct pg_conn *conn)
{
	struct change *c = ctx;
	struct workspace *w = &c->workspace;
	enum err err = workspace_store_lock(conn, c->request->workspace_id, w);
	c->is_other_name = err == OK && strcmp(c->name, w->name) != 0;
	if (err == OK && (c->is_other_name || w->deleted_at_us || w->is_restoring))
		err = ERR_INVALID;
	if (err ==
	    OK) /* what is counted per sponsor, and links that are being restored, come first */
		err = membership_lock_workspace(conn, w->id);
	if (err == OK)
		err = workspace_closing_begin(conn, w->id);
	return err == OK ? record(c, conn, "workspace.delete", NULL) : err;
}

enum http_progress workspace_handlers_delete(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct change c = { 0 };
	if (!read_only_name(r, &c))
		return HTTP_COMPLETE;
	enum err err = pg_pool_transact(r->api->pg, delete_on, &c);
	if (c.is_other_name)
		return response_conflict(r, "state", "/name", "is not the name of this workspace");
	if (err == ERR_INVALID)
		return response_conflict(r, "state", "",
		                         c.workspace.is_restoring
		                                 ? "The workspace is being restored. Try again in "
		                                   "some minutes."
		                                 : "The workspace is deleted already.");
	if (err == ERR_NOT_FOUND)
		return response_not_found(r);
	if (err != OK)
		return response_failure(r, err);
	workspace_closing_run(r, r->workspace_id, 0);
	return response_no_content(r);
}

static enum err restore_on(void *ctx, struct pg_conn *conn)
{
	struct change *c = ctx;
	struct workspace *w = &c->workspace;
	enum err err = workspace_store_lock(conn, c->request->workspace_id, w);
	if (err == OK)
		err = workspace_closing_undo(conn, w->id);
	if (err == OK)
		err = record(c, conn, "workspace.restore", NULL);
	w->deleted_at_us = 0;
	w->role = c->request->role;
	return err;
}

enum http_progress workspace_handlers_restore(void *ctx, struct http_exchange *x)
{
	(void)x;
	struct request *r = ctx;
	struct change c = { .request = r };
	enum err err = pg_pool_transact(r->api->pg, restore_on, &c);
	if (err == ERR_NOT_FOUND)
		return response_conflict(r, "state", "",
		                         "The workspace is not deleted, or its week is over.");
	if (err != OK)
		return response_failure(r, err);
	workspace_closing_run(r, r->workspace_id, 0);
	return send_workspace(r, 200, &c.workspace);
}
