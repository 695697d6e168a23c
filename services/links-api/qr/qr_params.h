/*
 * Parses the query string of a QR code: format=svg|png (default: by Accept, SVG first),
 * size=64…2048 pixels (default 256), margin=0…16 modules (default 4). Pure.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_QR_QR_PARAMS_H
#define WAYMARK_SERVICES_LINKS_API_QR_QR_PARAMS_H

#include "lib/base/err.h"
#include "lib/http/http_problem.h"
#include "services/links-api/qr/qr_image.h"

enum qr_format { QR_FORMAT_SVG, QR_FORMAT_PNG, QR_FORMAT_ANY };

struct qr_params {
	/* QR_FORMAT_ANY: not given. */
	enum qr_format format;
	struct qr_image image;
};

/* query: undecoded. ERR_INVALID: wrong lists what is invalid, unknown or repeated. */
enum err qr_params_parse(const char *query, struct qr_params *out,
                         struct http_problem_fields *wrong) MUST_CHECK;

#endif
