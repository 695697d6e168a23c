#include "services/links-api/workspaces/member_change.h"

#include "services/links-api/workspaces/invitation.h"

bool member_change_is_allowed(const struct member_change *change)
{
	bool concerns_owners = change->held == WORKSPACE_OWNER || change->wanted == WORKSPACE_OWNER;
	if (change->is_self && change->wanted <= change->held)
		return true;
	return change->caller >= (concerns_owners ? WORKSPACE_OWNER : WORKSPACE_ADMIN);
}

enum err member_change_read_caller(const struct request *r, struct pg_conn *conn,
                                   enum workspace_role *out)
{
	if (!request_is_admin(r))
		return workspace_store_role(conn, r->workspace_id, r->user_id, out);
	*out = WORKSPACE_OWNER;
	return OK;
}

enum err member_change_write(const struct request *r, struct pg_conn *conn,
                             const struct workspace *workspace, struct member_change *change)
{
	bool is_lowered = change->held == WORKSPACE_OWNER && change->wanted < WORKSPACE_OWNER;
	int64_t next_owner = 0;
	enum err err = OK;
	if (is_lowered)
		err = workspace_store_other_owner(conn, workspace->id, change->user_id,
		                                  &next_owner);
	change->is_last_owner = err == ERR_NOT_FOUND;
	if (change->is_last_owner)
		return ERR_CONFLICT;
	if (err == OK && is_lowered && workspace->sponsor_id == change->user_id)
		err = workspace_store_set_sponsor(conn, workspace->id, next_owner);
	if (err == OK)
		err = workspace_store_set_role(conn, workspace->id, change->user_id,
		                               change->wanted);
	return err == OK ? invitation_end_void(r, conn, workspace->id, change->user_id) : err;
}
