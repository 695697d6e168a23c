#include "services/links-api/qr/qr_code.h"

#include <png.h>
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

size_t qr_code_side(const struct qr_code *code, const struct qr_code_image *image)
{
	return code->width + 2 * (size_t)image->margin;
}

/* One rectangle per run of dark modules. */
static void add_row(const struct qr_code *code, size_t margin, size_t y, struct strbuf *out)
{
	for (size_t x = 0; x < code->width;) {
		size_t run = 0;
		while (qr_code_is_dark(code, x + run, y))
			run++;
		if (run > 0)
			strbuf_add_format(out, "M%zu %zuh%zuv1h-%zuz", x + margin, y + margin, run,
			                  run);
		x += run > 0 ? run : 1;
	}
}

void qr_code_write_svg(const struct qr_code *code, const struct qr_code_image *image,
                       struct strbuf *out)
{
	size_t modules = qr_code_side(code, image);
	strbuf_add_format(out,
	                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%zu\" height=\"%zu\" "
	                  "viewBox=\"0 0 %zu %zu\" shape-rendering=\"crispEdges\">"
	                  "<path fill=\"#fff\" d=\"M0 0h%zuv%zuH0z\"/><path d=\"",
	                  (size_t)image->size, (size_t)image->size, modules, modules, modules,
	                  modules);
	for (size_t y = 0; y < code->width; y++)
		add_row(code, (size_t)image->margin, y, out);
	strbuf_add_text(out, "\"/></svg>\n");
}

/* One byte per pixel, 1 = dark; libpng packs them. */
static uint8_t *draw(const struct qr_code *code, const struct qr_code_image *image)
{
	size_t size = (size_t)image->size;
	size_t scale = size / qr_code_side(code, image);
	size_t begin = (size - scale * code->width) / 2;
	uint8_t *pixels = mem_zero(size * size);
	for (size_t y = 0; y < code->width * scale; y++) {
		for (size_t x = 0; x < code->width; x++)
			memset(pixels + (begin + y) * size + begin + x * scale,
			       qr_code_is_dark(code, x, y / scale), scale);
	}
	return pixels;
}

static enum err compress(const uint8_t *pixels, size_t size, struct strbuf *out)
{
	static const uint8_t palette[] = { 255, 255, 255, 0, 0, 0 };
	png_image png = {
		.version = PNG_IMAGE_VERSION,
		.width = (png_uint_32)size,
		.height = (png_uint_32)size,
		.format = PNG_FORMAT_RGB_COLORMAP,
		.colormap_entries = 2,
	};
	png_alloc_size_t len = PNG_IMAGE_PNG_SIZE_MAX(png);
	uint8_t *bytes = mem_zero(len);
	bool written = png_image_write_to_memory(&png, bytes, &len, 0, pixels, 0, palette) != 0;
	if (written)
		strbuf_add(out, bytes, len);
	free(bytes);
	return written ? OK : ERR_INTERNAL;
}

enum err qr_code_write_png(const struct qr_code *code, const struct qr_code_image *image,
                           struct strbuf *out)
{
	if ((size_t)image->size < qr_code_side(code, image))
		return ERR_INVALID;
	uint8_t *pixels = draw(code, image);
	enum err err = compress(pixels, (size_t)image->size, out);
	free(pixels);
	return err;
}
