/*
 * HTTP handlers that change a tag of the caller; ctx is the struct request. A tag is a text of its
 * links, so its change is a change of each of them: the version rises, and the outbox gets an
 * event. All of them change in one transaction, or none. DELETED links change too, so that
 * restoring one does not bring the old tag back.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_TAGS_TAG_CHANGE_H
#define WAYMARK_SERVICES_LINKS_API_TAGS_TAG_CHANGE_H

#include "lib/http/http_server.h"

#define TAG_CHANGE_LINKS_MAX 10000

/*
 * PATCH /api/tags/{name} {name?, color?} → 200 {name, color, changed}, 400, 404, 409, 422. The name
 * of another tag merges the two. 404: no link has the tag. 409: the account has
 * TAG_STORE_COLORS_MAX colors. 422: more than TAG_CHANGE_LINKS_MAX links have the tag.
 */
enum http_progress tag_change_patch(void *ctx, struct http_exchange *x);

/* DELETE /api/tags/{name} → 204, 404, 422. Removes the tag from its links, and its color. */
enum http_progress tag_change_delete(void *ctx, struct http_exchange *x);

#endif
