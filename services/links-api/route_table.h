/*
 * The table of all endpoints: method, path, handler, permission. /api/urls is an alias of
 * /api/links. Pure.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ROUTE_TABLE_H
#define WAYMARK_SERVICES_LINKS_API_ROUTE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/http/http_router.h"

/* Rows with the same path are adjacent. */
const struct http_route *route_table_rows(size_t *count);

/*
 * Matches a raw path against the table. Whatever belongs to a workspace is also found below
 * /api/workspaces/{id}: /api/workspaces/7/links. workspace_id: that id; 0 = the path names none. So the
 * workspace itself, /api/workspaces/7, is the row /api/workspace. Errors: see http_router_find.
 */
enum err route_table_find(enum http_method method, const char *path, struct http_match *match,
                          int64_t *workspace_id) MUST_CHECK;

#endif
