#include "services/links-api/destinations/url_display.h"

#include <string.h>

#include "lib/base/url.h"
#include "lib/base/utf8.h"

/* Decodes a run of escapes. Returns its length; 0: it stays, because it is no printable text. */
static size_t decode_run(const char *url, size_t len, char **out)
{
	char *text = *out;
	size_t at = 0, count = 0;
	while (at < len && url[at] == '%') {
		int c = url_decode_next(url, len, &at);
		if (c < 0)
			return 0;
		text[count++] = (char)c;
	}
	if (!utf8_is_valid(text, count))
		return 0;
	for (size_t i = 0; i < count; i += utf8_next(text + i, count - i))
		if (utf8_is_control(text + i))
			return 0;
	*out += count;
	return at;
}

void url_display_write(const char *url, char out[static URL_DISPLAY_SIZE])
{
	const char *host;
	char *end = out;
	size_t host_len = link_url_host(url, &host);
	size_t begin = host_len > 0 ? (size_t)(host - url) : 0;
	end = mempcpy(end, url, begin);
	if (host_len > 0 && host_idna_to_unicode(host, host_len, end))
		end += strlen(end);
	else
		end = mempcpy(end, url + begin, host_len);
	bool is_query = false;
	size_t len = strlen(url);
	for (size_t at = begin + host_len; at < len;) {
		is_query = (is_query || url[at] == '?') && url[at] != '#';
		size_t decoded = url[at] == '%' ? decode_run(url + at, len - at, &end) : 0;
		if (decoded == 0) {
			*end++ = (char)(is_query && url[at] == '+' ? ' ' : url[at]);
			decoded = 1;
		}
		at += decoded;
	}
	*end = '\0';
	if (strcmp(out, url) == 0)
		out[0] = '\0';
}
