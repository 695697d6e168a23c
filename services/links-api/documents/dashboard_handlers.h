/*
 * HTTP handlers of the dashboard. They never block. ctx is the struct request. Not thread-safe: one
 * thread at a time per exchange.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_DOCUMENTS_DASHBOARD_HANDLERS_H
#define WAYMARK_SERVICES_LINKS_API_DOCUMENTS_DASHBOARD_HANDLERS_H

#include "lib/http/http_server.h"

/* GET / and GET /app → 303 to /app/ */
enum http_progress dashboard_handlers_redirect(void *ctx, struct http_exchange *x);

/* GET /app/{path...} → 200, 304, 404 */
enum http_progress dashboard_handlers_file(void *ctx, struct http_exchange *x);

#endif
