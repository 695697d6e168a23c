/*
 * One thread at a time, as its exchange. Hosts that no link may lead to, as admins keep them. A change counts at once
 * in this process, and everywhere as host_guard.h says.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_DESTINATIONS_HOST_HANDLERS_H
#define WAYMARK_SERVICES_LINKS_API_DESTINATIONS_HOST_HANDLERS_H

#include "lib/net/http_server.h"

/* GET /api/admin/hosts: all of them, by name. */
enum http_progress host_handlers_list(void *ctx, struct http_exchange *x);

/* POST /api/admin/hosts. 409: host-taken, or too-many-hosts (BLOCKED_HOST_STORE_MAX). */
enum http_progress host_handlers_create(void *ctx, struct http_exchange *x);

/* DELETE /api/admin/hosts/{id}. */
enum http_progress host_handlers_delete(void *ctx, struct http_exchange *x);

#endif
