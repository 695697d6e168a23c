/*
 * Invitations: the table invitations. One is for one address, works once and for a week, and lets its
 * holder join a workspace, or register at an instance that lets nobody else in. The token proves that
 * somebody was given the link, by hand or by mail, and so not that they read mail of the address. It
 * works only while its maker might still make it. One that has ended is kept for a while, to say how.
 * The endpoints are in http/handlers.h. One thread at a time per connection. Errors of pg_conn_query
 * pass through.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_WORKSPACES_INVITATION_H
#define WAYMARK_SERVICES_LINKS_API_WORKSPACES_INVITATION_H

#include <stdint.h>

#include "lib/base/digest.h"
#include "lib/base/err.h"
#include "lib/postgres/pg_conn.h"
#include "services/links-api/http/request.h"
#include "services/links-api/identity/user_store.h"
#include "services/links-api/workspaces/workspace_store.h"

/* Open ones of all workspaces of one sponsor; into the instance alone: of one administrator. */
#define INVITATION_OPEN_MAX 100
#define INVITATION_LIFETIME_S (INT64_C(7) * 24 * 60 * 60)
/* Ended ones of one sponsor, or of one administrator, that are kept. */
#define INVITATION_ENDED_MAX 1000
#define INVITATION_STATE_SIZE 9

struct invitation {
	int64_t id;
	/* 0 = into the instance alone; then workspace is "" and role WORKSPACE_STRANGER. */
	int64_t workspace_id;
	char workspace[WORKSPACE_STORE_NAME_SIZE];
	enum workspace_role role;
	char email[USER_EMAIL_SIZE];
	int64_t invited_by;
	/* The name of the inviter, or their address if they have none; "" = their account is deleted. */
	char inviter[USER_NAME_SIZE];
	int64_t expires_at_us, created_at_us;
	/* "open", "expired", "used", "revoked", "replaced"; "void": its maker may no longer invite. */
	char state[INVITATION_STATE_SIZE];
	/* Its workspace does. */
	bool requires_second_factor;
};

/* The state of invitation i. */
#define INVITATION_STATE                                                                               \
	"CASE WHEN i.ended IS NOT NULL THEN i.ended "                                                  \
	"WHEN i.expires_at <= clock_timestamp() THEN 'expired' "                                       \
	"WHEN EXISTS (SELECT FROM users maker LEFT JOIN members m "                                    \
	"ON m.user_id = maker.id AND m.workspace_id = i.workspace_id "                                 \
	"WHERE maker.id = i.invited_by AND maker.deleted_at IS NULL AND NOT maker.blocked "            \
	"AND (maker.role = 'admin' OR m.role = 'owner' OR (m.role = 'admin' AND i.role <> 'owner'))) " \
	"THEN 'open' ELSE 'void' END"

/* The columns that invitation_read expects, and their tables. */
#define INVITATION_SELECT                                                                          \
	"SELECT i.id, i.workspace_id, w.name, i.role, i.email, i.invited_by, "                     \
	"coalesce(nullif(u.name, ''), u.email), i.expires_at, i.created_at, " INVITATION_STATE     \
	", w.requires_second_factor "                                                              \
	"FROM invitations i JOIN users u ON u.id = i.invited_by "                                  \
	"LEFT JOIN workspaces w ON w.id = i.workspace_id "

void invitation_read(const struct pg_result *rows, size_t row, struct invitation *out);

/*
 * Inside a transaction that holds the sponsor, or the administrator: replaces the open one for the
 * same address. Reads workspace_id, role, email and invited_by of wanted. ERR_INVALID: there are
 * INVITATION_OPEN_MAX.
 */
enum err invitation_create(struct pg_conn *conn, const struct invitation *wanted,
                           int64_t sponsor_id, const uint8_t token_hash[static DIGEST_SIZE],
                           struct invitation *out) MUST_CHECK;

/* Pure. Whether it is for this address, in whatever case. */
bool invitation_is_for(const struct invitation *invitation, const char *email);

/*
 * ERR_NOT_FOUND: it has ended, and out->state says how; or none has this token, or its workspace is
 * deleted, and out is empty.
 */
enum err invitation_find(struct pg_conn *conn, const uint8_t token_hash[static DIGEST_SIZE],
                         struct invitation *out) MUST_CHECK;

/*
 * Inside a transaction: uses the invitation up, and makes the caller of r a member of its workspace,
 * if it is for one. The caller has checked invitation_is_for. ERR_NOT_FOUND: as invitation_find.
 * ERR_INVALID: as workspace_store_add_member.
 */
enum err invitation_take(const struct request *r, struct pg_conn *conn,
                         const struct invitation *invitation) MUST_CHECK;

/*
 * Inside a transaction: ends those of a member who has another role now, or none, and may no longer make
 * them. The audit log of the workspace names each.
 */
enum err invitation_end_void(const struct request *r, struct pg_conn *conn, int64_t workspace_id,
                             int64_t user_id) MUST_CHECK;

/*
 * Answers a request that one of these has failed: 403, 404, 409 or what response_failure says.
 * invitation: what invitation_find has found.
 */
enum http_progress invitation_refuse(struct request *r, const struct invitation *invitation,
                                     bool is_for_another, enum err err);

#endif
