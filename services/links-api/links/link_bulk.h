/* The items of a request that creates or claims links in bulk (http/handlers.h). */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_BULK_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_BULK_H

#include <stddef.h>

#include "lib/json/json.h"
#include "services/links-api/http/request.h"

#define LINK_BULK_MAX 1000
#define LINK_BULK_SYNC_MAX 100
#define LINK_BULK_BODY_BYTES_MAX ((size_t)2 * 1024 * 1024)

enum link_bulk_kind {
	LINK_BULK_CREATE, /* items are bodies of POST /api/links */
	LINK_BULK_SYNC,   /* … or {slug, claim_token} */
};

/* About 20 KB per item. */
struct link_bulk;

/* Reads and validates all items of a JSON array; keeps none. Free it with link_bulk_free. */
struct link_bulk *link_bulk_new(struct request *r, enum link_bulk_kind kind,
                                const struct json *items);
void link_bulk_free(struct link_bulk *bulk);

#endif
