/*
 * Changes of who is in a workspace: new roles, leaving, removing, handing over. Each runs inside the
 * caller's transaction, which holds workspace_store_lock. One thread at a time per connection.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_WORKSPACES_MEMBER_CHANGE_H
#define WAYMARK_SERVICES_LINKS_API_WORKSPACES_MEMBER_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "services/links-api/workspaces/workspace_store.h"

struct member_change {
	int64_t user_id;
	/* The member changes or leaves themselves. */
	bool is_self;
	/* What who asks is, what the member is, and what they shall be; WORKSPACE_STRANGER: no member. */
	enum workspace_role caller, held, wanted;
	/* Of member_change_write. */
	bool is_last_owner;
};

/*
 * Pure. Owners change everybody, admins those that neither are nor become owners, and everybody may
 * step down or leave.
 */
bool member_change_is_allowed(const struct member_change *change);

/*
 * What the caller of r is now: they may have lost their role since the request was authenticated.
 */
enum err member_change_read_caller(const struct request *r, struct pg_conn *conn,
                                   enum workspace_role *out) MUST_CHECK;

/*
 * Writes a change that is allowed, and ends the invitations that the member may no longer make. If the
 * sponsor of the workspace is no owner afterwards, the longest-standing other owner is the sponsor.
 * ERR_CONFLICT with is_last_owner: nobody else is an owner.
 * ERR_INVALID: the new sponsor has WORKSPACE_STORE_SPONSORED_MAX workspaces. Other errors of
 * pg_conn_query pass through.
 */
enum err member_change_write(const struct request *r, struct pg_conn *conn,
                             const struct workspace *workspace,
                             struct member_change *change) MUST_CHECK;

#endif
