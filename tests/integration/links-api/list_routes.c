/*
 * Prints each endpoint and the right it requires, for test_authorisation.py: "GET /api/links/{id}
 * links:read".
 */
#include <stdio.h>
#include <stdlib.h>

#include "services/links-api/routes.h"

static const char *method_of(const struct http_route *route)
{
	static const char *const names[] = { "GET",   "HEAD",   "POST",   "PUT",
		                             "PATCH", "DELETE", "OPTIONS" };
	return names[route->method];
}

static const char *right_of(const struct http_route *route)
{
	switch ((enum permission)route->right) {
	case PERMISSION_NONE:
		return "none";
	case PERMISSION_ACCOUNT:
		return "account";
	case PERMISSION_LINKS_READ:
		return "links:read";
	case PERMISSION_LINKS_WRITE:
		return "links:write";
	case PERMISSION_STATS_READ:
		return "stats:read";
	case PERMISSION_SHARED:
		return "shared";
	case PERMISSION_ADMIN:
		return "admin";
	}
	abort();
}

int main(void)
{
	size_t count;
	const struct http_route *routes = routes_table(&count);
	for (size_t i = 0; i < count; i++)
		printf("%s %s %s\n", method_of(&routes[i]), routes[i].pattern,
		       right_of(&routes[i]));
	return 0;
}
