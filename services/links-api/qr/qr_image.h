/*
 * Draws QR codes: black on white, square, with a margin of light modules (scanners need 4). Pure.
 *
 *   SVG   scaled to the requested size
 *   PNG   size x size pixels; whole pixels per module, the rest widens the margin
 */
#ifndef WAYMARK_SERVICES_LINKS_API_QR_QR_IMAGE_H
#define WAYMARK_SERVICES_LINKS_API_QR_QR_IMAGE_H

#include <stddef.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "services/links-api/qr/qr_code.h"

#define QR_IMAGE_SIZE_MIN 64
#define QR_IMAGE_SIZE_MAX 2048
#define QR_IMAGE_MARGIN_MAX 16

struct qr_image {
	/* Pixels per side. */
	size_t size;
	/* Modules. */
	size_t margin;
};

/* Modules per side, including margins: the smallest size of a PNG in pixels. */
size_t qr_image_modules(const struct qr_code *code, const struct qr_image *image);

/* Appends to out; check strbuf_status. */
void qr_image_write_svg(const struct qr_code *code, const struct qr_image *image,
                        struct strbuf *out);

/* Appends to out; check strbuf_status. ERR_INVALID: size is too small. ERR_INTERNAL: libpng. */
enum err qr_image_write_png(const struct qr_code *code, const struct qr_image *image,
                            struct strbuf *out) MUST_CHECK;

#endif
