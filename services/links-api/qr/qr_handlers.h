/*
 * HTTP handler for GET /api/links/{id}/qr: the short URL of a link as a QR code (qr_code.h).
 * Supports ETag and If-None-Match (304). Not thread-safe: one thread at a time per exchange.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_QR_QR_HANDLERS_H
#define WAYMARK_SERVICES_LINKS_API_QR_QR_HANDLERS_H

#include "lib/http/http_server.h"

/* 400: an invalid format, size or margin, or a size of less than one pixel per module. */
enum http_progress qr_handlers_get(void *ctx, struct http_exchange *x);

#endif
