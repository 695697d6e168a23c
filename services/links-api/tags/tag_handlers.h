/* HTTP handlers of tags; ctx is the struct request. */
#ifndef WAYMARK_SERVICES_LINKS_API_TAGS_TAG_HANDLERS_H
#define WAYMARK_SERVICES_LINKS_API_TAGS_TAG_HANDLERS_H

#include "lib/http/http_server.h"

/* GET /api/tags: 200 {tags: [{name, color, links, humans, bots, total}], as_of, lag_ms} */
enum http_progress tag_handlers_list(void *ctx, struct http_exchange *x);

#endif
