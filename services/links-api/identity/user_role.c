#include "services/links-api/identity/user_role.h"

#include <string.h>

const char *user_role_name(enum user_role role)
{
	return role == USER_ROLE_ADMIN ? "admin" : "user";
}

enum err user_role_parse(const char *name, enum user_role *role)
{
	if (strcmp(name, "admin") != 0 && strcmp(name, "user") != 0)
		return ERR_INVALID;
	*role = strcmp(name, "admin") == 0 ? USER_ROLE_ADMIN : USER_ROLE_USER;
	return OK;
}
