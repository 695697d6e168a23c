/*
 * Sessions, the logins of browsers: the table sessions and a cookie, a secret (secret.h). Every
 * request reads its session's row, so a deleted session stops working at once, on every instance.
 * PostgreSQL's clock decides if one has expired. The endpoints are in http/handlers.h. One thread at a
 * time per connection and request. Errors of pg_conn_query pass through.
 *
 * Scripts cannot read the cookie, and browsers do not send it with requests of other sites. The scheme
 * is that of PUBLIC_BASE_URL; http is for one machine.
 *
 *   https   __Host-waymark=wms_…; Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict; Secure
 *   http    waymark=wms_…; Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict
 */
#ifndef WAYMARK_SERVICES_LINKS_API_IDENTITY_SESSION_H
#define WAYMARK_SERVICES_LINKS_API_IDENTITY_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/digest.h"
#include "lib/base/err.h"
#include "lib/postgres/pg_conn.h"

#define SESSION_IDLE_S (24 * 60 * 60)
#define SESSION_LIFETIME_S (30 * 24 * 60 * 60)
#define SESSION_FRESH_S (10 * 60)
#define SESSION_SESSIONS_MAX 50 /* per user; beyond, those unused for longest end */
#define SESSION_USER_AGENT_BYTES_MAX 200
#define SESSION_USER_AGENT_SIZE (SESSION_USER_AGENT_BYTES_MAX + 1)
#define SESSION_PROVIDER_SIZE 33

struct request;
struct user;

struct session {
	int64_t id;
	int64_t user_id;
	char user_agent[SESSION_USER_AGENT_SIZE];
	int64_t created_at_us;
	/* To the minute. */
	int64_t last_used_at_us;
	/* If it is not used any more. */
	int64_t expires_at_us;
	/* last_used_at_us is a minute old. */
	bool is_use_due;
	/* The login was through a provider, which asks for a second factor as it likes. */
	bool is_by_provider;
};

/*
 * Finds the session with this hash and records its use, at most once a minute. ERR_NOT_FOUND: no
 * such session, or it has expired.
 */
enum err session_use(struct pg_conn *conn, const uint8_t hash[static DIGEST_SIZE],
                     struct session *out) MUST_CHECK;

/*
 * Starts a session of the user after the right password, with a new secret, and ends the one that
 * the request's cookie names. Responds with 201 {user} and the cookie. ERR_NOT_FOUND: no response;
 * the user was blocked or deleted, or has a new password since it was read.
 */
enum err session_start(struct request *r, const struct user *user) MUST_CHECK;

/* is_fresh: the session began in the last SESSION_FRESH_S. */
enum err session_is_fresh(struct pg_conn *conn, int64_t id, bool *is_fresh) MUST_CHECK;

/*
 * The same after a login by a provider of single sign-on, whose id it keeps; NULL = by password. Sets
 * the cookie, but no response.
 */
enum err session_open(struct request *r, const struct user *user, const char *provider) MUST_CHECK;

/*
 * Ends the request's own session. provider: by which it began; "" = by password. ERR_NOT_FOUND: the
 * request has none.
 */
enum err session_end(struct request *r, char provider[static SESSION_PROVIDER_SIZE]) MUST_CHECK;

/* ERR_NOT_FOUND: the request has no such cookie. ERR_INVALID: it is malformed, or sent twice. */
enum err session_read_cookie(const struct request *r, uint8_t hash[static DIGEST_SIZE]) MUST_CHECK;

/* Makes the browser forget the cookie. Best effort. */
void session_clear_cookie(struct request *r);

#endif
