/*
 * Pure. An account as its owner sees it: {id, email, name, role, links_per_day, created_at}; and as administrators do,
 * with blocked. links_per_day null: the service's default.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_USER_JSON_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_USER_JSON_H

#include "lib/net/json.h"
#include "services/links-api/accounts/user_store.h"

/* {"user": {…}}. The caller owns it. */
struct json *user_json_new(const struct user *user);

/* The object alone. The caller owns it. */
struct json *user_json_for_admin(const struct user *user);

#endif
