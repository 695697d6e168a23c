/*
 * Workspaces and their members in PostgreSQL: the tables workspaces and members. Who may do what in
 * them, each request reads through identity/membership.h. One thread at a time per connection. Errors
 * of pg_conn_query pass through.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_WORKSPACES_WORKSPACE_STORE_H
#define WAYMARK_SERVICES_LINKS_API_WORKSPACES_WORKSPACE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/postgres/pg_conn.h"
#include "services/links-api/http/request.h"

/* That one person is the sponsor of, those included whose deletion can still be undone. */
#define WORKSPACE_STORE_SPONSORED_MAX 50
/* Of one workspace. */
#define WORKSPACE_STORE_MEMBERS_MAX 1000
/* Of one person. */
#define WORKSPACE_STORE_MEMBERSHIPS_MAX 200
#define WORKSPACE_STORE_NAME_CHARS_MAX 100
#define WORKSPACE_STORE_NAME_SIZE (WORKSPACE_STORE_NAME_CHARS_MAX * 4 + 1)

struct workspace {
	int64_t id;
	char name[WORKSPACE_STORE_NAME_SIZE];
	/* Of whoever asks. */
	enum workspace_role role;
	/* Whose limits it uses up. */
	int64_t sponsor_id;
	bool requires_second_factor;
	/* Of new links that do not say it themselves. */
	bool default_forward_query, default_forward_path;
	int64_t members;
	int64_t created_at_us;
	/* 0 = it is not deleted. */
	int64_t deleted_at_us;
	/* The deletion was undone; some of its links are not back yet. */
	bool is_restoring;
};

/* The columns that workspace_store_read expects, of workspaces AS w. role_: an expression. */
#define WORKSPACE_STORE_COLUMNS(role_)                                                             \
	"w.id, w.name, " role_ ", w.sponsor_id, w.requires_second_factor, "                        \
	"(SELECT count(*) FROM members other WHERE other.workspace_id = w.id), w.created_at, "     \
	"w.deleted_at, w.closing = 'restoring', w.default_forward_query, w.default_forward_path"

void workspace_store_read(const struct pg_result *rows, size_t row, struct workspace *out);

/* role is WORKSPACE_STRANGER. ERR_NOT_FOUND: there is none. */
enum err workspace_store_get(struct pg_conn *conn, int64_t id, struct workspace *out) MUST_CHECK;

/* The same, and locks the workspace until the transaction ends. */
enum err workspace_store_lock(struct pg_conn *conn, int64_t id, struct workspace *out) MUST_CHECK;

/*
 * Inside a transaction: creates a workspace whose sponsor and owner is the person. ERR_INVALID: they are
 * the sponsor of WORKSPACE_STORE_SPONSORED_MAX already. ERR_NOT_FOUND: the person is deleted.
 */
enum err workspace_store_create(struct pg_conn *conn, int64_t user_id, const char *name,
                                int64_t *id) MUST_CHECK;

/* Writes name, requires_second_factor and the defaults of new links. */
enum err workspace_store_change(struct pg_conn *conn, const struct workspace *workspace) MUST_CHECK;

/* --- members: call these inside a transaction that holds workspace_store_lock --- */

/* WORKSPACE_STRANGER: no member. */
enum err workspace_store_role(struct pg_conn *conn, int64_t id, int64_t user_id,
                              enum workspace_role *out) MUST_CHECK;

/* The longest-standing owner who is not this person. ERR_NOT_FOUND: there is none. */
enum err workspace_store_other_owner(struct pg_conn *conn, int64_t id, int64_t user_id,
                                     int64_t *owner_id) MUST_CHECK;

/*
 * Makes the person a member. Someone who is one already keeps their role. ERR_NOT_FOUND: the person is
 * deleted. ERR_INVALID: the workspace has WORKSPACE_STORE_MEMBERS_MAX members, or the person is in
 * WORKSPACE_STORE_MEMBERSHIPS_MAX workspaces.
 */
enum err workspace_store_add_member(struct pg_conn *conn, int64_t id, int64_t user_id,
                                    enum workspace_role role) MUST_CHECK;

/* Gives a member another role; WORKSPACE_STRANGER ends the membership. */
enum err workspace_store_set_role(struct pg_conn *conn, int64_t id, int64_t user_id,
                                  enum workspace_role role) MUST_CHECK;

/* ERR_INVALID, ERR_NOT_FOUND: as workspace_store_create. */
enum err workspace_store_set_sponsor(struct pg_conn *conn, int64_t id, int64_t user_id) MUST_CHECK;

#endif
