#include "services/links-api/qr/qr_picture.h"

#include <png.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"

size_t qr_picture_modules(const struct qr_code *code, const struct qr_picture *picture)
{
	return code->width + 2 * picture->margin;
}

/* Dark modules that lie side by side are one rectangle. */
static void add_row(const struct qr_code *code, size_t margin, size_t y, struct strbuf *out)
{
	for (size_t x = 0; x < code->width;) {
		size_t run = 0;
		while (qr_code_is_dark(code, x + run, y))
			run++;
		if (run > 0)
			strbuf_add_format(out, "M%zu %zuh%zuv1h-%zuz", x + margin, y + margin, run, run);
		x += run > 0 ? run : 1;
	}
}

void qr_picture_write_svg(const struct qr_code *code, const struct qr_picture *picture, struct strbuf *out)
{
	size_t modules = qr_picture_modules(code, picture);
	strbuf_add_format(out,
	                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%zu\" height=\"%zu\" "
	                  "viewBox=\"0 0 %zu %zu\" shape-rendering=\"crispEdges\">"
	                  "<path fill=\"#fff\" d=\"M0 0h%zuv%zuH0z\"/><path d=\"",
	                  picture->size, picture->size, modules, modules, modules, modules);
	for (size_t y = 0; y < code->width; y++)
		add_row(code, picture->margin, y, out);
	strbuf_add_text(out, "\"/></svg>\n");
}

/* One byte a pixel, 1 = dark: libpng packs them. */
static uint8_t *draw(const struct qr_code *code, const struct qr_picture *picture)
{
	size_t size = picture->size;
	size_t scale = size / qr_picture_modules(code, picture);
	size_t begin = (size - scale * code->width) / 2;
	uint8_t *pixels = mem_zero(size * size);
	for (size_t y = 0; y < code->width * scale; y++) {
		for (size_t x = 0; x < code->width; x++)
			memset(pixels + (begin + y) * size + begin + x * scale, qr_code_is_dark(code, x, y / scale),
			       scale);
	}
	return pixels;
}

static enum err compress(const uint8_t *pixels, size_t size, struct strbuf *out)
{
	static const uint8_t colours[] = { 255, 255, 255, 0, 0, 0 };
	png_image image = {
		.version = PNG_IMAGE_VERSION,
		.width = (png_uint_32)size,
		.height = (png_uint_32)size,
		.format = PNG_FORMAT_RGB_COLORMAP,
		.colormap_entries = 2,
	};
	png_alloc_size_t len = PNG_IMAGE_PNG_SIZE_MAX(image);
	uint8_t *bytes = mem_zero(len);
	bool written = png_image_write_to_memory(&image, bytes, &len, 0, pixels, 0, colours) != 0;
	if (written)
		strbuf_add(out, bytes, len);
	free(bytes);
	return written ? OK : ERR_INTERNAL;
}

enum err qr_picture_write_png(const struct qr_code *code, const struct qr_picture *picture, struct strbuf *out)
{
	if (picture->size < qr_picture_modules(code, picture))
		return ERR_INVALID;
	uint8_t *pixels = draw(code, picture);
	enum err err = compress(pixels, picture->size, out);
	free(pixels);
	return err;
}
