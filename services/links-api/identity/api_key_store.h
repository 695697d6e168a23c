/*
 * API keys in PostgreSQL: the table api_keys. Every request reads its key's row, so a deleted key stops
 * working at once. The endpoints are in http/handlers.h. One thread at a time per connection. Errors of
 * pg_conn_query pass through.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_IDENTITY_API_KEY_STORE_H
#define WAYMARK_SERVICES_LINKS_API_IDENTITY_API_KEY_STORE_H

#include "lib/postgres/pg_conn.h"
#include "services/links-api/identity/api_key.h"
#include "services/links-api/identity/secret.h"

/*
 * Finds the key with this hash, or with this one before its last rotation, and records its use, at
 * most once a minute. ERR_NOT_FOUND: no such key, or it has expired at now_us (*is_expired, which
 * is always set).
 */
enum err api_key_store_use(struct pg_conn *conn, const uint8_t hash[static DIGEST_SIZE],
                           int64_t now_us, struct api_key *out, bool *is_expired) MUST_CHECK;

/*
 * Adds keys of a workspace, newest first, as api_key_json. maker_id: only those of this user; 0 = of all.
 * id: only this one; 0 = all. tags: only keys that see no link beyond these tags; NULL = all.
 */
enum err api_key_store_list(struct pg_conn *conn, int64_t workspace_id, int64_t maker_id,
                            int64_t id, const char *tags, int64_t now_us,
                            struct json *array) MUST_CHECK;

/* --- changes: in a transaction that holds membership_lock_workspace --- */

/* ERR_NOT_FOUND: the workspace has no such key. */
enum err api_key_store_get(struct pg_conn *conn, int64_t id, int64_t workspace_id,
                           struct api_key *out) MUST_CHECK;

/* Sets id, hint and times of key. ERR_INVALID: the sponsor's workspaces have API_KEY_KEYS_MAX keys. */
enum err api_key_store_insert(struct pg_conn *conn, struct api_key *key, int64_t sponsor_id,
                              const struct secret *secret) MUST_CHECK;

/*
 * Writes name, scopes, tags, expiry and maker. Of the keys that it made, also through others, those end
 * that have more than the key has now, and none outlives it.
 */
enum err api_key_store_update(struct pg_conn *conn, const struct api_key *key) MUST_CHECK;

/* Replaces the secret; the one of now works for overlap_s more. An older one does not. */
enum err api_key_store_rotate(struct pg_conn *conn, struct api_key *key,
                              const struct secret *secret, int64_t overlap_s) MUST_CHECK;

enum err api_key_store_delete(struct pg_conn *conn, int64_t id) MUST_CHECK;

#endif
