/* The role of an account: users manage their own links, administrators manage everything. Pure. */
#ifndef WAYMARK_SERVICES_LINKS_API_IDENTITY_USER_ROLE_H
#define WAYMARK_SERVICES_LINKS_API_IDENTITY_USER_ROLE_H

#include "lib/base/err.h"

enum user_role { USER_ROLE_USER, USER_ROLE_ADMIN };

/* Converts between the role and "user" or "admin". ERR_INVALID: unknown name. */
const char *user_role_name(enum user_role role);
enum err user_role_parse(const char *name, enum user_role *role) MUST_CHECK;

#endif
