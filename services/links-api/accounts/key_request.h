/* Parses the request to create an API key: {name, scopes: ["links:read", …], expires_at?}. Pure. */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_KEY_REQUEST_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_KEY_REQUEST_H

#include "lib/http/http_problem.h"
#include "lib/json/json.h"
#include "services/links-api/identity/api_key_store.h"

/*
 * Fills name, scopes and expires_at_us. ERR_INVALID: wrong lists every invalid member: unknown,
 * missing, of the wrong type, an unknown or repeated scope, or an expiry that is not in the future.
 */
enum err key_request_read(const struct json *object, int64_t now_us, struct api_key *out,
                          struct http_problem_fields *wrong) MUST_CHECK;

#endif
