/*
 * Pure. QR codes (ISO/IEC 18004, libqrencode): a text as dark and light modules, error correction level M.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_QR_QR_CODE_H
#define WAYMARK_SERVICES_LINKS_API_QR_QR_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

#define QR_CODE_WIDTH_MAX 177 /* modules, of version 40 */
#define QR_CODE_TEXT_MAX 2331 /* bytes */

struct qr_code {
	size_t width;     /* modules on each side */
	uint8_t *modules; /* row by row; 1 = dark */
};

/* text: 1 to QR_CODE_TEXT_MAX bytes; else ERR_INVALID. */
enum err qr_code_make(const char *text, struct qr_code *out) MUST_CHECK;
void qr_code_clear(struct qr_code *code);

/* False beyond the edge, too. */
bool qr_code_is_dark(const struct qr_code *code, size_t x, size_t y);

#endif
