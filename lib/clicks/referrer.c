#include "lib/clicks/referrer.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "lib/base/utf8.h"

/* The text after "scheme://", or NULL when there is no scheme. */
static const char *authority_of(const char *referrer)
{
	const char *colon = strstr(referrer, "://");
	if (!colon || colon == referrer || !isalpha((unsigned char)referrer[0]))
		return NULL;
	for (const char *c = referrer; c < colon; c++) {
		if (!isalnum((unsigned char)*c) && *c != '+' && *c != '-' && *c != '.')
			return NULL;
	}
	return colon + 3;
}

/* Bytes beyond ASCII are accepted, because some clients send international names unescaped. */
static bool is_host_byte(unsigned char c)
{
	return isalnum(c) || c == '-' || c == '.' || c == '_' || c == '%' || c >= 0x80;
}

static bool is_ipv6_byte(unsigned char c)
{
	return isxdigit(c) || c == ':' || c == '.' || c == '[' || c == ']';
}

/* Moves *host past user info and returns the length of the host with its port. */
static size_t host_and_port_length(const char **host)
{
	size_t len = strcspn(*host, "/?#\\");
	const char *at = memrchr(*host, '@', len);
	if (!at)
		return len;
	len -= (size_t)(at + 1 - *host);
	*host = at + 1;
	return len;
}

/* Moves *host past user info and returns the length of the host without its port. */
static size_t host_length(const char **host)
{
	size_t len = host_and_port_length(host);
	const char *bracket = (*host)[0] == '[' ? memchr(*host, ']', len) : NULL;
	if (bracket)
		return (size_t)(bracket + 1 - *host);
	const char *port = memchr(*host, ':', len);
	if (port)
		len = (size_t)(port - *host);
	while (len > 0 && (*host)[len - 1] == '.')
		len--;
	return len;
}

void referrer_page(const char *referrer, char *out, size_t size)
{
	out[0] = '\0';
	const char *host = authority_of(referrer);
	if (!host)
		return;
	size_t scheme_len = (size_t)(host - referrer);
	size_t host_len = host_and_port_length(&host);
	if (host_len == 0 || scheme_len + host_len >= size)
		return;
	size_t path_len = strcspn(host + host_len, "?#;\\");
	utf8_copy_clean(referrer, scheme_len, out, size);
	utf8_copy_clean(host, host_len + path_len, out + scheme_len, size - scheme_len);
}

void referrer_host(const char *referrer, char *out, size_t size)
{
	out[0] = '\0';
	const char *host = authority_of(referrer);
	if (!host)
		return;
	size_t len = host_length(&host);
	if (len == 0 || len >= size)
		return;
	bool ipv6 = host[0] == '[' && host[len - 1] == ']';
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)host[i];
		if (ipv6 ? !is_ipv6_byte(c) : !is_host_byte(c)) {
			out[0] = '\0';
			return;
		}
		out[i] = (char)(c < 0x80 ? tolower(c) : c);
	}
	out[len] = '\0';
}
