#include "services/links-api/workspaces/invitation.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/base/array.h"
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
		.requires_second_factor = pg_result_bool(rows, row, 10),
	};
	snprintf(out->state, sizeof(out->state), "%s", pg_result_text(rows, row, 9));
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

static enum err end_replaced(struct pg_conn *conn, const struct invitation *wanted)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, wanted->workspace_id);
	pg_params_text(&params, wanted->email);
	return pg_conn_query(conn,
	                     "UPDATE invitations SET ended = 'replaced' WHERE ended IS NULL "
	                     "AND coalesce(workspace_id, 0) = $1 AND lower(email) = lower($2)",
	                     &params, NULL);
}

/* Those of $1, a sponsor, or an administrator if $2, the workspace, is 0. */
#define OF_SPONSOR                                                                                 \
	"(CASE WHEN $2::bigint = 0 THEN i.workspace_id IS NULL AND i.invited_by = $1 "             \
	"ELSE i.workspace_id IN (SELECT id FROM workspaces WHERE sponsor_id = $1) END)"
#define IS_OVER "(i.ended IS NOT NULL OR i.expires_at <= clock_timestamp())"

static enum err delete_oldest_ended(struct pg_conn *conn, const struct invitation *wanted,
                                    int64_t sponsor_id)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, sponsor_id);
	pg_params_int(&params, wanted->workspace_id);
	pg_params_int(&params, INVITATION_ENDED_MAX);
	return pg_conn_query(conn,
	                     "DELETE FROM invitations WHERE id IN (SELECT i.id FROM invitations i "
	                     "WHERE " OF_SPONSOR " AND " IS_OVER " ORDER BY i.id DESC OFFSET $3)",
	                     &params, NULL);
}

enum err invitation_create(struct pg_conn *conn, const struct invitation *wanted,
                           int64_t sponsor_id, const uint8_t token_hash[static DIGEST_SIZE],
                           struct invitation *out)
{
	int64_t id = 0;
	bool is_of_workspace = wanted->workspace_id != 0;
	struct pg_params params = { 0 }, created = { 0 };
	enum err err = end_replaced(conn, wanted);
	if (err == OK)
		err = delete_oldest_ended(conn, wanted, sponsor_id);
	if (err != OK)
		return err;
	pg_params_int(&params, is_of_workspace ? sponsor_id : wanted->invited_by);
	pg_params_int(&params, wanted->workspace_id);
	pg_params_text(&params, is_of_workspace ? membership_role_name(wanted->role) : NULL);
	pg_params_text(&params, wanted->email);
	pg_params_int(&params, wanted->invited_by);
	pg_params_bytes(&params, token_hash, DIGEST_SIZE);
	pg_params_int(&params, INVITATION_LIFETIME_S);
	pg_params_int(&params, INVITATION_OPEN_MAX);
	err = pg_conn_query_int(
		conn,
		"INSERT INTO invitations (workspace_id, role, email, invited_by, token_hash, expires_at) "
		"SELECT NULLIF($2::bigint, 0), $3, $4, $5, $6, "
		"clock_timestamp() + $7::bigint * interval '1 second' "
		"WHERE (SELECT count(*) FROM invitations i WHERE " OF_SPONSOR " AND NOT " IS_OVER
		") < $8 RETURNING id",
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
	*out = (struct invitation){ 0 };
	enum err err = query_one(
		conn, INVITATION_SELECT "WHERE i.token_hash = $1 AND w.deleted_at IS NULL", &params,
		out);
	return err == OK && strcmp(out->state, "open") != 0 ? ERR_NOT_FOUND : err;
}

/* ERR_NOT_FOUND: it has ended meanwhile. */
static enum err use_up(struct pg_conn *conn, int64_t id)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, id);
	return pg_conn_query_int(conn,
	                         "UPDATE invitations i SET ended = 'used' WHERE id = $1 "
	                         "AND " INVITATION_STATE " = 'open' RETURNING id",
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

enum err invitation_end_void(const struct request *r, struct pg_conn *conn, int64_t workspace_id,
                             int64_t user_id)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, workspace_id);
	pg_params_int(&params, user_id);
	enum err err =
		pg_conn_query(conn,
	                      "UPDATE invitations i SET ended = 'void' WHERE workspace_id = $1 "
	                      "AND invited_by = $2 AND ended IS NULL "
	                      "AND " INVITATION_STATE " = 'void' RETURNING id",
	                      &params, &rows);
	for (size_t i = 0; err == OK && i < pg_result_count(rows); i++) {
		const struct audit_entry entry = {
			.workspace_id = workspace_id,
			.actor_id = r->user_id,
			.key_id = r->key_id,
			.action = "invitation.end",
			.subject_type = AUDIT_STORE_INVITATION,
			.subject_id = pg_result_int(rows, i, 0),
			.request_id = http_exchange_request_id(r->exchange),
		};
		err = audit_store_add(conn, &entry);
	}
	pg_result_free(rows);
	return err;
}

struct ending {
	const char *state, *kind, *detail;
};

static const struct ending endings[] = {
	{ "used", "invitation-used",
	  "This invitation was used. Log in if that was you, or ask for a new one." },
	{ "expired", "invitation-expired",
	  "The week of this invitation is over. Ask for a new one." },
	{ "replaced", "invitation-replaced",
	  "A newer invitation has replaced this one. Use that, or ask for a new one." },
	{ "revoked", "invitation-revoked", "This invitation was revoked. Ask for a new one." },
	{ "void", "invitation-revoked",
	  "Whoever made this invitation may no longer invite. Ask for a new one." },
};

/* Names what the open invitation named, and nobody who may no longer invite. */
static enum http_progress send_ended(struct request *r, const struct invitation *invitation,
                                     const struct ending *ending)
{
	bool can_ask = *invitation->inviter && strcmp(ending->state, "void") != 0;
	struct json *problem = http_problem_new(404, ending->kind, ending->detail,
	                                        http_exchange_request_id(r->exchange), NULL);
	json_set_text(problem, "workspace",
	              invitation->workspace_id ? invitation->workspace : NULL);
	json_set_text(problem, "invited_by_name", can_ask ? invitation->inviter : NULL);
	return http_problem_send(r->exchange, 404, problem);
}

static enum http_progress refuse_ended(struct request *r, const struct invitation *invitation)
{
	for (size_t i = 0; i < ARRAY_SIZE(endings); i++)
		if (strcmp(endings[i].state, invitation->state) == 0)
			return send_ended(r, invitation, &endings[i]);
	return response_problem(r, 404, "no-invitation",
	                        "No invitation has this token, or it has ended, or its workspace "
	                        "is deleted. Ask for a new one.");
}

enum http_progress invitation_refuse(struct request *r, const struct invitation *invitation,
                                     bool is_for_another, enum err err)
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
		return refuse_ended(r, invitation);
	return response_failure(r, err);
}
