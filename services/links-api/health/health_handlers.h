/* HTTP handler of the health of all services; ctx is the struct request. */
#ifndef WAYMARK_SERVICES_LINKS_API_HEALTH_HEALTH_HANDLERS_H
#define WAYMARK_SERVICES_LINKS_API_HEALTH_HEALTH_HANDLERS_H

#include "lib/http/http_server.h"

/* GET /api/admin/health → 200 (health_json.h), 503 */
enum http_progress health_handlers_get(void *ctx, struct http_exchange *x);

#endif
