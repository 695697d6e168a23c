/*
 * Invitations: the table invitations. One is for one address, works once and for a week, and lets its
 * holder join a workspace, or register at an instance that lets nobody else in. The token proves that
 * somebody was given the link, by hand or by mail, and so not that they read mail of the address. The
 * endpoints are in http/handlers.h. One thread at a time per connection. Errors of pg_conn_query pass
 * through.
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

struct invitation {
	int64_t id;
	/* 0 = into the instance alone; then workspace is "" and role WORKSPACE_STRANGER. */
	int64_t workspace_id;
	char workspace[WORKSPACE_STORE_NAME_SIZE];
	enum workspace_role role;
	char email[USER_EMAIL_SIZE];
	int64_t invited_by;
	/* The name of the inviter; "" = they have none. */
	char inviter[USER_NAME_SIZE];
	int64_t expires_at_us, created_at_us;
};

/* The columns that invitation_read expects, and their tables. */
#define INVITATION_SELECT                                                                          \
	"SELECT i.id, i.workspace_id, w.name, i.role, i.email, i.invited_by, u.name, "             \
	"i.expires_at, i.created_at FROM invitations i JOIN users u ON u.id = i.invited_by "       \
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

/* ERR_NOT_FOUND: none has this token any more, or its workspace is deleted. */
enum err invitation_find(struct pg_conn *conn, const uint8_t token_hash[static DIGEST_SIZE],
                         struct invitation *out) MUST_CHECK;

/*
 * Inside a transaction: uses the invitation up, and makes the caller of r a member of its workspace,
 * if it is for one. The caller has checked invitation_is_for. ERR_NOT_FOUND: as invitation_find.
 * ERR_INVALID: as workspace_store_add_member.
 */
enum err invitation_take(const struct request *r, struct pg_conn *conn,
                         const struct invitation *invitation) MUST_CHECK;

/* Answers a request that one of these three has failed: 403, 404, 409 or what response_failure says. */
enum http_progress invitation_refuse(struct request *r, bool is_for_another, enum err err);

#endif
