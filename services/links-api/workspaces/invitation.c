#include "services/links-api/workspaces/invitation.h"

#include <stdio.h>
#include <strings.h>

#include "services/links-api/http/response.h"
#include "services/links-api/identity/audit_store.h"
#include "services/links-api/identity/membership.h"

void invitation_read(const struct pg_result *rows, size_t row, struct invitation *out)
{
	*out = (struct invitation){
		.id = pg_result_int(rows, row, 0),
		.workspace_id = pg_result_int(rows, row, 1),
		.invited_by = pg_result_int(rows, row, 5),
		.expires_at_us = pg_result_time(rows, row, 7),
		.created_at_us = pg_result_time(rows, row, 8),
	};
	snprintf(out->workspace, sizeof(out->workspace), "%s", pg_result_text(rows, row, 2));
	snprintf(out->email, sizeof(out->email), "%s", pg_result_text(rows, row, 4));
	snprintf(out->inviter, sizeof(out->inviter), "%s", pg_result_text(rows, row, 6));
	if (membership_parse_role(pg_result_text(rows, row, 3), &out->role) != OK)
		out->role = WORKSPACE_STRANGER;
}

static enum err query_one(struct pg_conn *conn, const char *sql, const struct pg_params *params,
                          struct invitation *out)
{
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(conn, sql, params, &rows);
	if (err == OK && pg_result_count(rows) != 1)
		err = ERR_NOT_FOUND;
	if (err == OK)
		invitation_read(rows, 0, out);
	pg_result_free(rows);
	return err;
}

/* Also those that nobody can use any more, so that they need no room. */
static enum err delete_replaced(struct pg_conn *conn, const struct invitation *wanted,
                                int64_t sponsor_id)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, sponsor_id);
	pg_params_int(&params, wanted->workspace_id);
	pg_params_text(&params, wanted->email);
	return pg_conn_query(conn,
	                     "DELETE FROM invitations WHERE coalesce(workspace_id, 0) IN "
	                     "(SELECT id FROM workspaces WHERE sponsor_id = $1 UNION ALL SELECT 0) "
	                     "AND (expires_at <= clock_timestamp() "
	                     "OR (coalesce(workspace_id, 0) = $2 AND lower(email) = lower($3)))",
	                     &params, NULL);
}

enum err invitation_create(struct pg_conn *conn, const struct invitation *wanted,
                           int64_t sponsor_id, const uint8_t token_hash[static DIGEST_SIZE],
                           struct invitation *out)
{
	int64_t id = 0;
	bool is_of_workspace = wanted->workspace_id != 0;
	struct pg_params params = { 0 }, created = { 0 };
	enum err err = delete_replaced(conn, wanted, sponsor_id);
	if (err != OK)
		return err;
	pg_params_int(&params, wanted->workspace_id);
	pg_params_text(&params, is_of_workspace ? membership_role_name(wanted->role) : NULL);
	pg_params_text(&params, wanted->email);
	pg_params_int(&params, wanted->invited_by);
	pg_params_bytes(&params, token_hash, DIGEST_SIZE);
	pg_params_int(&params, INVITATION_LIFETIME_S);
	pg_params_int(&params, sponsor_id);
	pg_params_int(&params, INVITATION_OPEN_MAX);
	err = pg_conn_query_int(
		conn,
		"INSERT INTO invitations (workspace_id, role, email, invited_by, token_hash, expires_at) "
		"SELECT NULLIF($1::bigint, 0), $2, $3, $4, $5, "
		"clock_timestamp() + $6::bigint * interval '1 second' "
		"WHERE (SELECT count(*) FROM invitations i LEFT JOIN workspaces w ON w.id = i.workspace_id "
		"WHERE CASE WHEN $1 = 0 THEN i.workspace_id IS NULL AND i.invited_by = $4 "
		"ELSE w.sponsor_id = $7 END) < $8 RETURNING id",
		&params, &id);
	if (err == ERR_NOT_FOUND)
		return ERR_INVALID;
	pg_params_int(&created, id);
	return err == OK ? query_one(conn, INVITATION_SELECT "WHERE i.id = $1", &created, out)
	                 : err;
}

bool invitation_is_for(const struct invitation *invitation, const char *email)
{
	return strcasecmp(invitation->email, email) == 0;
}

enum err invitation_find(struct pg_conn *conn, const uint8_t token_hash[static DIGEST_SIZE],
                         struct invitation *out)
{
	struct pg_params params = { 0 };
	pg_params_bytes(&params, token_hash, DIGEST_SIZE);
	return query_one(conn,
	                 INVITATION_SELECT "WHERE i.token_hash = $1 "
	                                   "AND i.expires_at > clock_timestamp() "
	                                   "AND w.deleted_at IS NULL",
	                 &params, out);
}

/* ERR_NOT_FOUND: it was used, revoked or replaced meanwhile. */
static enum err use_up(struct pg_conn *conn, int64_t id)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, id);
	return pg_conn_query_int(conn,
	                         "DELETE FROM invitations WHERE id = $1 "
	                         "AND expires_at > clock_timestamp() RETURNING id",
	                         &params, &id);
}

static enum err audit(const struct request *r, struct pg_conn *conn,
                      const struct invitation *invitation)
{
	struct json *details = json_new_object();
	json_set_int(details, "invited_by", invitation->invited_by);
	json_set_text(details, "role", membership_role_name(invitation->role));
	const struct audit_entry entry = {
		.workspace_id = invitation->workspace_id,
		.actor_id = r->user_id,
		.action = "member.create",
		.subject_type = AUDIT_STORE_USER,
		.subject_id = r->user_id,
		.request_id = http_exchange_request_id(r->exchange),
		.details = details,
	};
	enum err err = audit_store_add(conn, &entry);
	json_free(details);
	return err;
}

enum err invitation_take(const struct request *r, struct pg_conn *conn,
                         const struct invitation *invitation)
{
	struct workspace workspace;
	int64_t workspace_id = invitation->workspace_id;
	if (workspace_id == 0)
		return use_up(conn, invitation->id);
	enum err err = workspace_store_lock(conn, workspace_id, &workspace);
	if (err == OK && workspace.deleted_at_us)
		err = ERR_NOT_FOUND;
	if (err == OK)
		err = use_up(conn, invitation->id);
	if (err == OK)
		err = workspace_store_add_member(conn, workspace_id, r->user_id, invitation->role);
	return err == OK ? audit(r, conn, invitation) : err;
}

enum http_progress invitation_refuse(struct request *r, bool is_for_another, enum err err)
{
	if (is_for_another)
		return response_problem(
			r, 403, "invitation-for-another",
			"This invitation is for another address than yours. Use that "
			"one, or ask for an invitation of yours.");
	if (err == ERR_INVALID)
		return response_conflict(r, "too-many-members", "",
		                         "The workspace has 1,000 members already, or you are in "
		                         "200 workspaces. Somebody must leave first.");
	if (err == ERR_NOT_FOUND)
		return response_problem(
			r, 404, "no-invitation",
			"This invitation was used, revoked or replaced, or its week "
			"is over. Ask for a new one.");
	return response_failure(r, err);
}
