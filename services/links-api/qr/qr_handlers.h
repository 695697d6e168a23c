/*
 * One thread at a time, as its exchange. GET /api/links/{id}/qr: the short URL of a link as a QR code (qr_picture.h). It
 * may be kept by its reader for a day, as a slug never changes; ETag and If-None-Match (304) after that.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_QR_QR_HANDLERS_H
#define WAYMARK_SERVICES_LINKS_API_QR_QR_HANDLERS_H

#include "lib/net/http_server.h"

/* 400: format, size, margin, or a size with less than a pixel for each module. */
enum http_progress qr_handlers_get(void *ctx, struct http_exchange *x);

#endif
