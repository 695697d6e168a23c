/*
 * Pure. What callers may say of a QR code: format=svg|png (what they accept, svg before png), size=64…2048 pixels (256),
 * margin=0…16 modules (4).
 */
#ifndef WAYMARK_SERVICES_LINKS_API_QR_QR_QUERY_H
#define WAYMARK_SERVICES_LINKS_API_QR_QR_QUERY_H

#include "lib/base/err.h"
#include "lib/net/http_problem.h"
#include "services/links-api/qr/qr_picture.h"

enum qr_format { QR_FORMAT_SVG, QR_FORMAT_PNG, QR_FORMAT_ANY };

struct qr_query {
	enum qr_format format; /* QR_FORMAT_ANY: none was named */
	struct qr_picture picture;
};

/* query: raw. ERR_INVALID: wrong names every parameter that is wrong, unknown or there twice. */
enum err qr_query_read(const char *query, struct qr_query *out, struct http_problem_fields *wrong) MUST_CHECK;

#endif
