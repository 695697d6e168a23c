/*
 * Authenticates and authorizes a request. The credentials are an access token, an API key or a
 * session; the database then says what their account may do now. Nothing is cached between
 * requests, so a block, a new password, a deleted key or a revoked session takes effect with the
 * next request. Not thread-safe: one thread at a time per request.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_IDENTITY_AUTHENTICATION_H
#define WAYMARK_SERVICES_LINKS_API_IDENTITY_AUTHENTICATION_H

#include "services/links-api/http/request.h"

/* What an endpoint requires of its caller: the route table names one for each. */
enum permission {
	PERMISSION_NONE,    /* anyone */
	PERMISSION_ACCOUNT, /* the person: no API key */
	PERMISSION_SHARED,  /* the access token of a share, and no other credentials */
	PERMISSION_LINKS_READ,
	PERMISSION_LINKS_WRITE,
	PERMISSION_LINKS_MOVE, /* to another workspace: no API key */
	PERMISSION_STATS_READ,
	PERMISSION_VISITS_READ,
	PERMISSION_SHARES_READ,
	PERMISSION_SHARES_WRITE,
	PERMISSION_KEYS_READ,
	PERMISSION_KEYS_WRITE,
	PERMISSION_WORKSPACE_READ,
	PERMISSION_WORKSPACE_AUDIT, /* what its admins alone see */
	PERMISSION_WORKSPACE_LEAVE,
	PERMISSION_WORKSPACE_WRITE,
	PERMISSION_WORKSPACE_OWN, /* no API key */
	PERMISSION_ADMIN_READ,    /* the instance: an administrator */
	PERMISSION_ADMIN_WRITE,
};

/*
 * The least role that the permission (enum permission) needs in a workspace. WORKSPACE_STRANGER: what
 * it is for belongs to no workspace, so paths cannot name one.
 */
enum workspace_role authentication_least_role(unsigned permission);

/*
 * The scopes that an API key can use while its maker has this role in the workspace, and is an
 * administrator of the instance or not.
 */
unsigned authentication_usable_scopes(enum workspace_role role, bool is_admin);

/*
 * Reads "Authorization: Bearer <access token or API key>", or else "X-Api-Key: <API key>", or else
 * the cookie of a session, if our own page sent the request. Does not block.
 * VALID: the credentials look valid without asking the database, and r->credentials is filled.
 * Repeated headers are INVALID: a proxy may have trusted the other one. An endpoint of
 * PERMISSION_SHARED reads the access token of a share instead, and no other endpoint does.
 */
enum request_auth authentication_read(struct request *r);

/*
 * Call after VALID. Asks the database. If the result is still VALID, fills user_id, key_id,
 * session_id, workspace, role and scopes, or share.
 */
enum err authentication_verify(struct request *r, enum request_auth *login) MUST_CHECK;

/*
 * True if the caller has the permission (enum permission). If false, the response is complete:
 *   404                    the path names a workspace of which the person is no member, or none
 *   400 "which-workspace"  it names none, and the person has several, but not the first one any more
 *   409 "workspace-deleted"
 *   403 "scope"            the API key lacks the scope
 *   403 "role"             the person's role in the workspace is too low
 *   403 "forbidden"        only persons, or administrators, have it
 */
bool authentication_authorize(struct request *r, unsigned permission);

/*
 * True: our own page sent it (the table in authentication.c). False: the response is 403
 * "https-required" if only the scheme is wrong, otherwise 403 "cross-site".
 */
bool authentication_is_same_origin(struct request *r);

/*
 * True unless our own page sent it over HTTP while PUBLIC_BASE_URL is HTTPS, where no login could
 * follow. False: the response is 403 "https-required".
 */
bool authentication_has_https(struct request *r);

/* Sends the error response for a login that is not VALID: 401, or 403 "blocked" or "cross-site". */
enum http_progress authentication_send_error(struct request *r, enum request_auth login);

/*
 * --- how fast an account may use the API, whatever it calls and however it authenticates:
 * REQUESTS_PER_MINUTE, and BULK_LINKS_PER_MINUTE for the links of bulk requests. All access tokens and
 * API keys of an account share both limits. Readers of a share have REQUESTS_PER_MINUTE of their own,
 * per share and network, and use up nothing of the account's. ---
 */

/*
 * Counts an authenticated request, and adds the RateLimit headers to its response. False: the
 * response is complete (429).
 */
bool authentication_take_request(struct request *r);

/*
 * Counts the links of a bulk request. It passes while one is left, and all of its links count.
 * False: the response is complete (429).
 */
bool authentication_take_bulk(struct request *r, int64_t links);

#endif
