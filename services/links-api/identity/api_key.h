/*
 * API keys and their scopes: the table api_keys. Every request reads its key's row, so a deleted key
 * stops working at once. The endpoints are in http/handlers.h. One thread at a time per connection.
 * Errors of pg_conn_query pass through.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_IDENTITY_API_KEY_H
#define WAYMARK_SERVICES_LINKS_API_IDENTITY_API_KEY_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/http/http_problem.h"
#include "lib/json/json.h"
#include "lib/postgres/pg_conn.h"
#include "services/links-api/identity/secret.h"

/* Bit flags, in the order of their names in api_key.c. Access tokens and sessions have all. */
#define SCOPE_LINKS_READ (1U << 0)
#define SCOPE_LINKS_WRITE (1U << 1)
#define SCOPE_STATS_READ (1U << 2)
#define SCOPE_VISITS_READ (1U << 3)
#define SCOPE_SHARES_READ (1U << 4)
#define SCOPE_SHARES_WRITE (1U << 5)
#define SCOPE_KEYS_READ (1U << 6)
#define SCOPE_KEYS_WRITE (1U << 7)
#define SCOPE_WORKSPACE_READ (1U << 8)
#define SCOPE_WORKSPACE_WRITE (1U << 9)
#define SCOPE_ADMIN_READ (1U << 10)
#define SCOPE_ADMIN_WRITE (1U << 11)
#define SCOPE_COUNT 12
#define SCOPE_ALL ((1U << SCOPE_COUNT) - 1)
#define SCOPE_LIST_SIZE 192 /* fits all names, separated by commas */

#define API_KEY_KEYS_MAX 100 /* per sponsor */
#define API_KEY_NAME_CHARS_MAX 100
#define API_KEY_NAME_SIZE (API_KEY_NAME_CHARS_MAX * 4 + 1)
#define API_KEY_HINT_LENGTH 7

struct api_key {
	int64_t id;
	int64_t workspace_id;
	/* A user. */
	int64_t created_by;
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
enum err api_key_use(struct pg_conn *conn, const uint8_t hash[static DIGEST_SIZE], int64_t now_us,
                     struct api_key *out) MUST_CHECK;

/* "links:read,stats:read". */
void api_key_join_scopes(unsigned scopes, char out[static SCOPE_LIST_SIZE]);

/*
 * Pure. Reads a key to create: {name, scopes: ["links:read", …], expires_at?}. ERR_INVALID: wrong
 * lists every invalid member: unknown, missing, of the wrong type, an unknown or repeated scope, or
 * an expiry that is not in the future.
 */
enum err api_key_read_body(const struct json *object, int64_t now_us, struct api_key *out,
                           struct http_problem_fields *wrong) MUST_CHECK;

#endif
