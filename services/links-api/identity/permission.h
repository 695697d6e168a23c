/*
 * What an endpoint requires of its caller: nothing, an access token, a scope, a share or the
 * administrator role. The route table names one permission per endpoint, and authentication.h
 * checks it. Pure.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_IDENTITY_PERMISSION_H
#define WAYMARK_SERVICES_LINKS_API_IDENTITY_PERMISSION_H

enum permission {
	PERMISSION_NONE,        /* anyone */
	PERMISSION_ACCOUNT,     /* account management: no API key */
	PERMISSION_LINKS_READ,  /* "links:read" */
	PERMISSION_LINKS_WRITE, /* "links:write" */
	PERMISSION_STATS_READ,  /* "stats:read" */
	PERMISSION_SHARED,      /* the access token of a share, and no other credentials */
	PERMISSION_ADMIN,       /* the platform: an administrator, no API key */
};

#endif
