/*
 * HTTP handlers that create or claim links in bulk; ctx is the struct request. Both answer 200
 * {results: [{status, link | problem}]} in the order of the request, honour Idempotency-Key and
 * report the remaining quota (RateLimit).
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_BULK_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_BULK_H

#include "lib/http/http_server.h"

#define LINK_BULK_MAX 1000
#define LINK_BULK_SYNC_MAX 100
#define LINK_BULK_BODY_BYTES_MAX ((size_t)2 * 1024 * 1024)

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
