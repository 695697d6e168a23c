/*
 * The JSON form of an account, for its owner: {id, email, name, role, links_per_day, created_at}.
 * Administrators also see blocked. links_per_day null: the service's default applies. Pure.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_USER_JSON_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_USER_JSON_H

#include "lib/json/json.h"
#include "services/links-api/identity/user_store.h"

/* Returns {"user": {…}}. The caller owns it. */
struct json *user_json_new(const struct user *user);

/* Returns the object without the wrapper, with blocked. The caller owns it. */
struct json *user_json_for_admin(const struct user *user);

#endif
