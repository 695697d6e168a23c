#include "services/links-api/qr/qr_code.h"

#include <qrencode.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"

#define DARK 1

enum err qr_code_encode(const char *text, struct qr_code *out)
{
	size_t len = strlen(text);
	if (len < 1 || len > QR_CODE_TEXT_MAX)
		return ERR_INVALID;
	QRcode *encoded = QRcode_encodeString8bit(text, 0, QR_ECLEVEL_M);
	if (!encoded)
		abort(); /* out of memory is the only remaining reason */
	size_t width = (size_t)encoded->width;
	*out = (struct qr_code){ .width = width, .modules = mem_zero(width * width) };
	for (size_t i = 0; i < width * width; i++)
		out->modules[i] = encoded->data[i] & DARK;
	QRcode_free(encoded);
	return OK;
}

void qr_code_clear(struct qr_code *code)
{
	free(code->modules);
	*code = (struct qr_code){ 0 };
}

bool qr_code_is_dark(const struct qr_code *code, size_t x, size_t y)
{
	return x < code->width && y < code->width && code->modules[y * code->width + x];
}
