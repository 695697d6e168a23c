/*
 * A text as a QR code (ISO/IEC 18004, libqrencode) with error correction level M, drawn black on
 * white, square, with a margin of light modules (scanners need 4). Pure.
 *
 *   SVG   scaled to the requested size
 *   PNG   size x size pixels; whole pixels per module, the rest widens the margin
 */
#ifndef WAYMARK_SERVICES_LINKS_API_QR_QR_CODE_H
#define WAYMARK_SERVICES_LINKS_API_QR_QR_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"

#define QR_CODE_WIDTH_MAX 177 /* modules; version 40 */
#define QR_CODE_TEXT_MAX 2331 /* bytes */

struct qr_code {
	/* Modules per side. */
	size_t width;
	/* Rows from top to bottom; 1 = dark. */
	uint8_t *modules;
};

/* text: 1 to QR_CODE_TEXT_MAX bytes, otherwise ERR_INVALID. */
enum err qr_code_encode(const char *text, struct qr_code *out) MUST_CHECK;
void qr_code_clear(struct qr_code *code);

/* False outside the code. */
bool qr_code_is_dark(const struct qr_code *code, size_t x, size_t y);

#define QR_CODE_SIZE_MIN 64
#define QR_CODE_SIZE_MAX 2048
#define QR_CODE_MARGIN_MAX 16

struct qr_code_image {
	/* Pixels per side. */
	int64_t size;
	/* Modules. */
	int64_t margin;
};

/* Modules per side, including margins: the smallest size of a PNG in pixels. */
size_t qr_code_side(const struct qr_code *code, const struct qr_code_image *image);

/* Appends to out; check strbuf_status. */
void qr_code_write_svg(const struct qr_code *code, const struct qr_code_image *image,
                       struct strbuf *out);

/* Appends to out; check strbuf_status. ERR_INVALID: size is too small. ERR_INTERNAL: libpng. */
enum err qr_code_write_png(const struct qr_code *code, const struct qr_code_image *image,
                           struct strbuf *out) MUST_CHECK;

#endif
