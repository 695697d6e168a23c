/*
 * What an endpoint requires of its caller: nothing, an access token, a scope or the administrator
 * role. The route table names one permission per endpoint, and authentication.h checks it. Pure.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCESS_PERMISSION_H
#define WAYMARK_SERVICES_LINKS_API_ACCESS_PERMISSION_H

enum routes_right {
	ROUTES_RIGHT_NONE,        /* anyone */
	ROUTES_RIGHT_ACCOUNT,     /* account management: access token only */
	ROUTES_RIGHT_LINKS_READ,  /* "links:read" */
	ROUTES_RIGHT_LINKS_WRITE, /* "links:write" */
	ROUTES_RIGHT_STATS_READ,  /* "stats:read" */
	ROUTES_RIGHT_ADMIN,       /* the platform: access token of an administrator only */
};

#endif
