/*
 * Prints each endpoint, the permission that it requires and the least role of that, for
 * test_authorisation.py: "GET /api/links/{id} links:read viewer"; "-": it belongs to no workspace.
 */
#include <stdio.h>

#include "services/links-api/identity/authentication.h"
#include "services/links-api/identity/membership.h"
#include "services/links-api/route_table.h"

static const char *method_of(const struct http_route *route)
{
	static const char *const names[] = { "GET",   "HEAD",   "POST",   "PUT",
		                             "PATCH", "DELETE", "OPTIONS" };
	return names[route->method];
}

static const char *const permissions[] = {
	[PERMISSION_NONE] = "none",
	[PERMISSION_ACCOUNT] = "account",
	[PERMISSION_SHARED] = "shared",
	[PERMISSION_LINKS_READ] = "links:read",
	[PERMISSION_LINKS_WRITE] = "links:write",
	[PERMISSION_LINKS_MOVE] = "move",
	[PERMISSION_STATS_READ] = "stats:read",
	[PERMISSION_VISITS_READ] = "visits:read",
	[PERMISSION_SHARES_READ] = "shares:read",
	[PERMISSION_SHARES_WRITE] = "shares:write",
	[PERMISSION_KEYS_READ] = "keys:read",
	[PERMISSION_KEYS_WRITE] = "keys:write",
	[PERMISSION_WORKSPACE_READ] = "workspace:read",
	[PERMISSION_WORKSPACE_AUDIT] = "workspace:read",
	[PERMISSION_WORKSPACE_LEAVE] = "workspace:write",
	[PERMISSION_WORKSPACE_WRITE] = "workspace:write",
	[PERMISSION_WORKSPACE_OWN] = "owner",
	[PERMISSION_ADMIN_READ] = "admin:read",
	[PERMISSION_ADMIN_WRITE] = "admin:write",
};

static const char *least_role_of(const struct http_route *route)
{
	enum workspace_role least = authentication_least_role(route->right);
	return least == WORKSPACE_STRANGER ? "-" : membership_role_name(least);
}

int main(void)
{
	size_t count;
	const struct http_route *routes = route_table_rows(&count);
	for (size_t i = 0; i < count; i++)
		printf("%s %s %s %s\n", method_of(&routes[i]), routes[i].pattern,
		       permissions[routes[i].right], least_role_of(&routes[i]));
	return 0;
}
