/*
 * API keys in PostgreSQL: the table api_keys. Every request reads its key's row, so a deleted key
 * stops working at once. One thread at a time per connection. Errors of pg_conn_query pass through.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_IDENTITY_API_KEY_STORE_H
#define WAYMARK_SERVICES_LINKS_API_IDENTITY_API_KEY_STORE_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/postgres/pg_conn.h"
#include "services/links-api/identity/secret.h"

#define API_KEY_STORE_KEYS_MAX 100 /* per user */
#define API_KEY_NAME_CHARS_MAX 100
#define API_KEY_NAME_SIZE (API_KEY_NAME_CHARS_MAX * 4 + 1)
#define API_KEY_HINT_LENGTH 7

struct api_key {
	int64_t id;
	int64_t user_id;
	/* SCOPE_… */
	unsigned scopes;
	char name[API_KEY_NAME_SIZE];
	/* The first characters of the secret. */
	char hint[API_KEY_HINT_LENGTH + 1];
	/* 0 = never. */
	int64_t expires_at_us;
	/* To the minute; 0 = never. */
	int64_t last_used_at_us;
	int64_t created_at_us;
};

/*
 * Finds the key with this hash and records its use, at most once a minute. ERR_NOT_FOUND: no such
 * key, or it has expired at now_us.
 */
enum err api_key_store_use(struct pg_conn *conn, const uint8_t hash[static DIGEST_SIZE],
                           int64_t now_us, struct api_key *out) MUST_CHECK;

/*
 * Call inside a transaction that holds user_store_lock on the account. Reads user_id, name, scopes
 * and expires_at_us of wanted. ERR_INVALID: the account already has API_KEY_STORE_KEYS_MAX keys.
 */
enum err api_key_store_create(struct pg_conn *conn, const struct api_key *wanted,
                              const struct secret *secret, struct api_key *out) MUST_CHECK;

/* Newest first. keys has room for API_KEY_STORE_KEYS_MAX. */
enum err api_key_store_list(struct pg_conn *conn, int64_t user_id, struct api_key *keys,
                            size_t *count) MUST_CHECK;

/* ERR_NOT_FOUND: the user has no key with this id. */
enum err api_key_store_delete(struct pg_conn *conn, int64_t user_id, int64_t id) MUST_CHECK;

enum err api_key_store_delete_all(struct pg_conn *conn, int64_t user_id) MUST_CHECK;

#endif
