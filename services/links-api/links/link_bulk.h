/*
 * HTTP handlers that create or claim links in bulk, in one transaction; ctx is the struct request.
 * An item that fails does not affect the others. Both answer 200
 * {results: [{status, link | problem}]} in the order of the request, honour Idempotency-Key and
 * report the remaining quota (RateLimit).
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_BULK_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_BULK_H

#include <stddef.h>

#include "lib/http/http_server.h"
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

/*
 * POST /api/links/bulk {links: [at most LINK_BULK_MAX bodies of POST /api/links]}. Status of each
 * item: 201, 200 (reused), 400, 409, 429.
 */
enum http_progress link_bulk_create(void *ctx, struct http_exchange *x);

/*
 * POST /api/links/sync {links: [at most LINK_BULK_SYNC_MAX of {slug, claim_token} or bodies as
 * above]}. Status of each item: as above, and for claims 200 (claimed now or earlier), 404 (no such
 * pair of slug and token), 409 (the link has expired).
 */
enum http_progress link_bulk_sync(void *ctx, struct http_exchange *x);

#endif
