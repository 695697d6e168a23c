/*
 * HTTP handlers that create one link; ctx is the struct request. Both honour Idempotency-Key and
 * report the remaining quota (RateLimit).
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_CREATE_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_CREATE_H

#include "lib/http/http_server.h"

/*
 * POST /api/links → 201 {link} with Location and ETag, 200 (reuse), 400, 409, 422
 * (Idempotency-Key), 429 (LINKS_PER_DAY)
 */
enum http_progress link_create_own(void *ctx, struct http_exchange *x);

/*
 * POST /api/links/public → 201 {link, claim_token} with Location and ETag, 400, 409, 422
 * (Idempotency-Key), 429 (ANONYMOUS_LINKS_PER_HOUR)
 */
enum http_progress link_create_public(void *ctx, struct http_exchange *x);

#endif
