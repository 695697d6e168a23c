/*
 * HTTP handlers of API keys; ctx is the struct request. Managing keys requires an access token. A
 * missing key and another user's key get the same 404.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_KEY_HANDLERS_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_KEY_HANDLERS_H

#include "lib/http/http_problem.h"
#include "lib/http/http_server.h"
#include "lib/json/json.h"
#include "services/links-api/identity/api_key_store.h"

/*
 * Pure. Reads a key to create: {name, scopes: ["links:read", …], expires_at?}. ERR_INVALID: wrong
 * lists every invalid member: unknown, missing, of the wrong type, an unknown or repeated scope, or
 * an expiry that is not in the future.
 */
enum err key_handlers_read_body(const struct json *object, int64_t now_us, struct api_key *out,
                                struct http_problem_fields *wrong) MUST_CHECK;

/* POST /api/keys → 201 {key, secret}, the only one with it. 400, 409 (API_KEY_STORE_KEYS_MAX) */
enum http_progress key_handlers_create(void *ctx, struct http_exchange *x);

/* GET /api/keys → 200 {keys} */
enum http_progress key_handlers_list(void *ctx, struct http_exchange *x);

/* DELETE /api/keys/{id} → 204, 404 */
enum http_progress key_handlers_delete(void *ctx, struct http_exchange *x);

#endif
