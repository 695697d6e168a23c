/*
 * Pure. Pictures of QR codes: black on white, square, with a margin of light modules around the code (scanners want 4).
 *   SVG   exactly that, scaled to size
 *   PNG   size x size pixels; each module is as many whole pixels as fit, what is left over widens the margin
 */
#ifndef WAYMARK_SERVICES_LINKS_API_QR_QR_PICTURE_H
#define WAYMARK_SERVICES_LINKS_API_QR_QR_PICTURE_H

#include <stddef.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "services/links-api/qr/qr_code.h"

#define QR_PICTURE_SIZE_MIN 64
#define QR_PICTURE_SIZE_MAX 2048
#define QR_PICTURE_MARGIN_MAX 16

struct qr_picture {
	size_t size;   /* pixels on each side */
	size_t margin; /* modules */
};

/* The modules on each side, margins included: a PNG cannot be smaller than so many pixels. */
size_t qr_picture_modules(const struct qr_code *code, const struct qr_picture *picture);

/* Appends to out; ask strbuf_status. */
void qr_picture_write_svg(const struct qr_code *code, const struct qr_picture *picture, struct strbuf *out);

/* The same. ERR_INVALID: size is smaller than qr_picture_modules. ERR_INTERNAL: libpng would not. */
enum err qr_picture_write_png(const struct qr_code *code, const struct qr_picture *picture,
                              struct strbuf *out) MUST_CHECK;

#endif
