/* Encodes a text as a QR code (ISO/IEC 18004, libqrencode) with error correction level M. Pure. */
#ifndef WAYMARK_SERVICES_LINKS_API_QR_QR_CODE_H
#define WAYMARK_SERVICES_LINKS_API_QR_QR_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

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

#endif
