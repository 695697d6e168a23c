/*
 * HTTP handlers of the tags of the caller; ctx is the struct request. A tag is a text of its links,
 * so its change is a change of each of them: the version rises, and the outbox gets an event. All
 * of them change in one transaction, or none. DELETED links change too, so that restoring one does
 * not bring the old tag back.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_TAGS_TAG_HANDLERS_H
#define WAYMARK_SERVICES_LINKS_API_TAGS_TAG_HANDLERS_H

#include "lib/http/http_server.h"

/*
 * GET /api/tags: 200 {tags: [{name, color, links, humans, bots, total}], as_of, lag_ms}, at most the
 * 1,000 tags of the most links. Counted when they are read.
 */
enum http_progress tag_handlers_list(void *ctx, struct http_exchange *x);

/*
 * PATCH /api/tags/{name} {name?, color?} → 200 {name, color, changed}, 400, 404, 409, 422. The name
 * of another tag merges the two. 404: no link has the tag. 409: the account has 1,000 colors. 422:
 * more than 10,000 links have the tag.
 */
enum http_progress tag_handlers_patch(void *ctx, struct http_exchange *x);

/* DELETE /api/tags/{name} → 204, 404, 422. Removes the tag from its links, and its color. */
enum http_progress tag_handlers_delete(void *ctx, struct http_exchange *x);

#endif
