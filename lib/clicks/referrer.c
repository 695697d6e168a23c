#include "lib/clicks/referrer.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "lib/base/url.h"
#include "lib/base/utf8.h"

#define HOST_SIZE 256

/* Bytes beyond ASCII are accepted, because some clients send international names unescaped. */
static bool is_host_byte(unsigned char c)
{
	return isalnum(c) || c == '-' || c == '.' || c == '_' || c == '%' || c >= 0x80;
}

static bool is_ipv6_byte(unsigned char c)
{
	return isxdigit(c) || c == ':' || c == '.' || c == '[' || c == ']';
}

/* A header in another encoding has no host: a byte of it may look like "@" or the end of the host. */
void referrer_host(const char *referrer, char *out, size_t size)
{
	struct url url;
	out[0] = '\0';
	if (url_split(referrer, strlen(referrer), &url) != OK ||
	    !utf8_is_valid(url.user.text, url.user.len) ||
	    !utf8_is_valid(url.host.text, url.host.len))
		return;
	const char *host = url.host.text;
	size_t len = url.host.len;
	while (len > 0 && host[len - 1] == '.')
		len--;
	if (len == 0 || len >= size || host[0] == '.')
		return;
	bool ipv6 = host[0] == '[';
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)host[i];
		if ((ipv6 ? !is_ipv6_byte(c) : !is_host_byte(c)) || utf8_is_control(host + i)) {
			out[0] = '\0';
			return;
		}
		out[i] = (char)(c < 0x80 ? tolower(c) : c);
	}
	out[len] = '\0';
}

void referrer_page(const char *referrer, char *out, size_t size)
{
	struct url url;
	char name[HOST_SIZE];
	referrer_host(referrer, name, sizeof(name));
	out[0] = '\0';
	if (name[0] == '\0' || url_split(referrer, strlen(referrer), &url) != OK)
		return;
	size_t scheme_len = url.scheme.len + strlen("://");
	const char *host = url.host.text;
	size_t host_len = (size_t)(url.path.text - host);
	if (scheme_len + host_len >= size)
		return;
	size_t path_len = strcspn(url.path.text, "?#;\\");
	utf8_copy_clean(referrer, scheme_len, out, size);
	utf8_copy_clean(host, host_len + path_len, out + scheme_len, size - scheme_len);
}
