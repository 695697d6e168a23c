#include <string.h>

#include "lib/postgres/pg_pool.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/http/member.h"
#include "services/links-api/http/response.h"
#include "services/links-api/identity/audit_store.h"
#include "services/links-api/identity/membership.h"
#include "services/links-api/workspaces/member_change.h"

/* --- the list --- */

static struct json *row_json(const struct request *r, const struct pg_result *rows, size_t row)
{
	struct json *member = json_new_object();
	json_set_int(member, "user_id", pg_result_int(rows, row, 0));
	json_set_text(member, "email", pg_result_text(rows, row, 1));
	json_set_text(member, "name", pg_result_text(rows, row, 2));
	json_set_text(member, "role", pg_result_text(rows, row, 3));
	json_set_bool(member, "is_sponsor", pg_result_bool(rows, row, 4));
	json_set_time(member, "created_at", pg_result_time(rows, row, 5));
	if (r->role >= WORKSPACE_ADMIN)
		json_set_bool(member, "second_factor", pg_result_bool(rows, row, 6));
	else
		json_set_null(member, "second_factor");
	return member;
}

enum http_progress member_handlers_list(void *ctx, struct http_exchange *x)
{
	(void)x;
	const struct request *r = ctx;
	struct pg_params params = { 0 };
	pg_params_int(&params, r->workspace_id);
	pg_params_int(&params, WORKSPACE_STORE_MEMBERS_MAX);
	return response_rows(
		ctx, "members",
		"SELECT u.id, u.email, u.name, m.role, u.id = w.sponsor_id, m.created_at, "
		"u.totp_confirmed_at IS NOT NULL "
		"FROM members m JOIN users u ON u.id = m.user_id "
		"JOIN workspaces w ON w.id = m.workspace_id "
		"WHERE m.workspace_id = $1 ORDER BY m.created_at, u.id LIMIT $2",
		&params, row_json);
}

/* --- changes --- */

struct update {
	const struct request *request;
	struct member_change change;
	bool is_forbidden;
};

static enum err read_roles(struct update *u, struct pg_conn *conn)
{
	const struct request *r = u->request;
	struct member_change *change = &u->change;
	enum err err = member_change_read_caller(r, conn, &change->caller);
	if (err == OK)
		err = workspace_store_role(conn, r->workspace_id, change->user_id, &change->held);
	return err == OK && change->held == WORKSPACE_STRANGER ? ERR_NOT_FOUND : err;
}

static enum err audit(const struct update *u, struct pg_conn *conn)
{
	const struct request *r = u->request;
	const struct member_change *change = &u->change;
	bool has_left = change->wanted == WORKSPACE_STRANGER;
	struct json *details = json_new_object();
	json_set_text(details, "from", membership_role_name(change->held));
	if (!has_left)
		json_set_text(details, "to", membership_role_name(change->wanted));
	enum err err = audit_store_record(r, conn, has_left ? "member.delete" : "member.update",
	                                  AUDIT_STORE_USER, change->user_id, details);
	json_free(details);
	return err;
}

static enum err change_on(void *ctx, struct pg_conn *conn)
{
	struct update *u = ctx;
	struct workspace workspace;
	enum err err = workspace_store_lock(conn, u->request->workspace_id, &workspace);
	if (err == OK)
		err = read_roles(u, conn);
	u->is_forbidden = err == OK && !member_change_is_allowed(&u->change);
	if (u->is_forbidden)
		return ERR_CONFLICT;
	if (err != OK || u->change.held == u->change.wanted)
		return err;
	err = member_change_write(u->request, conn, &workspace, &u->change);
	return err == OK ? audit(u, conn) : err;
}

static enum http_progress run(struct request *r, enum workspace_role wanted)
{
	struct update u = { .request = r,
		            .change = { .user_id = request_path_id(r), .wanted = wanted } };
	u.change.is_self = u.change.user_id == r->user_id;
	enum err err = pg_pool_transact(r->api->pg, change_on, &u);
	if (u.is_forbidden)
		return response_problem(
			r, 403, "role",
			u.change.caller < WORKSPACE_ADMIN
				? "Only admins and owners of the workspace change other members."
				: "Only owners of the workspace make and change owners.");
	if (u.change.is_last_owner)
		return response_conflict(r, "last-owner", "",
		                         "This is the last owner. Make another member an owner "
		                         "first, or delete the workspace.");
	if (err == ERR_INVALID)
		return response_conflict(r, "too-many-workspaces", "",
		                         "The next owner answers for 50 workspaces already. Make "
		                         "another member an owner first.");
	if (err == ERR_NOT_FOUND)
		return response_not_found(r);
	if (err != OK)
		return response_failure(r, err);
	return response_no_content(r);
}

enum http_progress member_handlers_change(void *ctx, struct http_exchange *x)
{
	(void)x;
	static const char *const names[] = { "role" };
	struct request *r = ctx;
	enum workspace_role role = WORKSPACE_STRANGER;
	struct http_problem_fields wrong = { 0 };
	struct json *body = request_body_read(r);
	if (!body)
		return HTTP_COMPLETE;
	member_reject_unknown(body, names, 1, &wrong);
	const char *text = member_text_of(body, "role", true, &wrong);
	if (text && membership_parse_role(text, &role) != OK)
		http_problem_add_field(&wrong, "/role", "choice",
		                       "must be viewer, editor, admin or owner");
	json_free(body);
	return wrong.count > 0 ? response_invalid_fields(r, &wrong) : run(r, role);
}

enum http_progress member_handlers_delete(void *ctx, struct http_exchange *x)
{
	(void)x;
	return run(ctx, WORKSPACE_STRANGER);
}
