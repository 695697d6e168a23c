/*
 * Who may do what in which workspace: the tables workspaces and members. Every request reads its
 * row, so a new role or the end of a membership takes effect with the next request. The endpoints
 * are in http/handlers.h. One thread at a time per connection. Errors of pg_conn_query pass through.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_IDENTITY_MEMBERSHIP_H
#define WAYMARK_SERVICES_LINKS_API_IDENTITY_MEMBERSHIP_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/postgres/pg_conn.h"
#include "services/links-api/http/request.h"

/* "viewer", "editor", "admin" or "owner". ERR_INVALID: another name. */
const char *membership_role_name(enum workspace_role role);
enum err membership_parse_role(const char *name, enum workspace_role *role) MUST_CHECK;

struct membership {
	/* 0 = there is none. */
	int64_t workspace_id;
	/* Whose limits the workspace uses up. */
	int64_t sponsor_id;
	enum workspace_role role;
	/* Its deletion has begun. */
	bool is_deleted;
	bool requires_second_factor;
	/* Of its new links. */
	bool default_forward_query, default_forward_path;
};

/* A person who sends a request, and where. */
struct membership_person {
	bool is_admin, is_blocked, has_second_factor, has_confirmed_address;
	/* Access tokens of an earlier one are refused. */
	int64_t token_generation;
	struct membership membership;
	/* There are several, and the request names none of them. */
	bool is_ambiguous;
};

/*
 * wanted: the workspace that the request names; 0 = none: the person's first workspace, or else the
 * only one that is not deleted. ERR_NOT_FOUND: no such person, or deleted.
 */
enum err membership_find(struct pg_conn *conn, int64_t user_id, int64_t wanted,
                         struct membership_person *out) MUST_CHECK;

/* For instance administrators, who are owners everywhere. ERR_NOT_FOUND: no such workspace. */
enum err membership_find_as_admin(struct pg_conn *conn, int64_t workspace_id,
                                  struct membership *out) MUST_CHECK;

/*
 * Inside a transaction: locks the sponsor of a workspace until the transaction ends, so that what is
 * counted per sponsor stays exact, and a deletion of the workspace waits. ERR_NOT_FOUND: there is no
 * such workspace, or it is deleted.
 */
enum err membership_lock_workspace(struct pg_conn *conn, int64_t workspace_id) MUST_CHECK;

#endif
