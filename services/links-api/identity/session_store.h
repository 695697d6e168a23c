/*
 * Sessions in PostgreSQL: the table sessions. Every request reads its session's row, so a deleted
 * session stops working at once, on every instance. PostgreSQL's clock decides if one has expired.
 * One thread at a time per connection. Errors of pg_conn_query pass through.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_IDENTITY_SESSION_STORE_H
#define WAYMARK_SERVICES_LINKS_API_IDENTITY_SESSION_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/digest.h"
#include "lib/base/err.h"
#include "lib/postgres/pg_conn.h"

#define SESSION_STORE_IDLE_S (24 * 60 * 60)
#define SESSION_STORE_LIFETIME_S (30 * 24 * 60 * 60)
#define SESSION_STORE_SESSIONS_MAX 50 /* per user */
#define SESSION_USER_AGENT_BYTES_MAX 200
#define SESSION_USER_AGENT_SIZE (SESSION_USER_AGENT_BYTES_MAX + 1)

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
};

/*
 * Finds the session with this hash and records its use, at most once a minute. ERR_NOT_FOUND: no
 * such session, or it has expired.
 */
enum err session_store_use(struct pg_conn *conn, const uint8_t hash[static DIGEST_SIZE],
                           struct session *out) MUST_CHECK;

/*
 * Call inside a transaction that holds a lock on the account. Reads user_id and user_agent of
 * wanted. If the account has SESSION_STORE_SESSIONS_MAX, those unused for longest end.
 */
enum err session_store_create(struct pg_conn *conn, const struct session *wanted,
                              const uint8_t hash[static DIGEST_SIZE]) MUST_CHECK;

/* Valid ones, newest first. sessions has room for SESSION_STORE_SESSIONS_MAX. */
enum err session_store_list(struct pg_conn *conn, int64_t user_id, struct session *sessions,
                            size_t *count) MUST_CHECK;

/* ERR_NOT_FOUND: the user has no session with this id. */
enum err session_store_delete(struct pg_conn *conn, int64_t user_id, int64_t id) MUST_CHECK;

/* Ends the session with this hash, if there is one. */
enum err session_store_delete_by_hash(struct pg_conn *conn,
                                      const uint8_t hash[static DIGEST_SIZE]) MUST_CHECK;

enum err session_store_delete_all(struct pg_conn *conn, int64_t user_id) MUST_CHECK;

#endif
