/*
 * The JSON form of an API key: {id, name, scopes, hint, expires_at, last_used_at, created_at}.
 * Pure.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCESS_KEY_JSON_H
#define WAYMARK_SERVICES_LINKS_API_ACCESS_KEY_JSON_H

#include "lib/net/json.h"
#include "services/links-api/access/api_key_store.h"

/* The caller owns the result. */
struct json *key_json_new(const struct api_key *key);

#endif
