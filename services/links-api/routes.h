/*
 * Safe from any thread. The table of all endpoints: method, path, handler and the right that the caller needs; and the
 * way of each request through it. /api/urls is another name of /api/links.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ROUTES_H
#define WAYMARK_SERVICES_LINKS_API_ROUTES_H

#include <stddef.h>

#include "lib/net/http_router.h"
#include "services/links-api/links/link_bulk.h"

#define ROUTES_BODY_BYTES_MAX LINK_BULK_BODY_BYTES_MAX

enum routes_right {
	ROUTES_RIGHT_NONE,        /* for everybody */
	ROUTES_RIGHT_ACCOUNT,     /* the account itself: only after a login */
	ROUTES_RIGHT_LINKS_READ,  /* "links:read" */
	ROUTES_RIGHT_LINKS_WRITE, /* "links:write" */
	ROUTES_RIGHT_STATS_READ,  /* "stats:read" */
	ROUTES_RIGHT_ADMIN,       /* the platform: only after the login of an admin */
};

/* A login has every right but ADMIN. */
const struct http_route *routes_table(size_t *count);

/* The table's answer for a raw path; errors as http_router_find. */
enum err routes_find(enum http_method method, const char *path, struct http_match *match) MUST_CHECK;

/* For struct http_server_config: ctx is the struct api. */
enum http_progress routes_handle(void *ctx, struct http_exchange *x);
void routes_refuse(void *ctx, struct http_exchange *x, unsigned status, const char *detail);

/*
 * What a body may have at most: 16 KiB, but for what makes many links, and there only with what looks like a login as
 * far as that can be seen without the database. A larger one without it is refused by 401.
 */
size_t routes_body_limit(void *ctx, struct http_exchange *x);

/* One line per answered request; never an address, a token or a query. */
void routes_log(void *ctx, const struct http_exchange *x, unsigned status, int64_t duration_us);

#endif
