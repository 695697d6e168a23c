#include "lib/http/http_font.h"

#include <stdint.h>
#include <string.h>

/* Of http_font_data.S (cmake/embed.py). */
extern const char http_font_data_latin[];
extern const uint64_t http_font_data_latin_size;

bool http_font_respond(struct http_exchange *x)
{
	if (http_font_data_latin_size == 0 || strcmp(http_exchange_path(x), HTTP_FONT_PATH) != 0)
		return false;
	http_exchange_set_fixed_header(x, "Cache-Control", "public, max-age=604800");
	http_exchange_set_fixed_header(x, "X-Content-Type-Options", "nosniff");
	http_exchange_set_fixed_body(x, "font/woff2", http_font_data_latin,
	                             http_font_data_latin_size);
	return true;
}
