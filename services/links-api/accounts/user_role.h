/*
 * Pure. What an account may do beyond its own links: nothing, or everything.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_USER_ROLE_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_USER_ROLE_H

#include "lib/base/err.h"

enum user_role { USER_ROLE_USER, USER_ROLE_ADMIN };

/* "user", "admin", and back. ERR_INVALID: no such role. */
const char *user_role_name(enum user_role role);
enum err user_role_parse(const char *name, enum user_role *role) MUST_CHECK;

#endif
