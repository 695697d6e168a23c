/* HTTP handler of the stream of visits; ctx is the struct request. */
#ifndef WAYMARK_SERVICES_LINKS_API_LIVE_LIVE_HANDLERS_H
#define WAYMARK_SERVICES_LINKS_API_LIVE_LIVE_HANDLERS_H

#include "lib/http/http_server.h"

/* GET /api/live → 200 text/event-stream, 400 (Last-Event-ID), 406, 429 "busy", 503 */
enum http_progress live_handlers_get(void *ctx, struct http_exchange *x);

#endif
