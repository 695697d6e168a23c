#include "lib/base/url.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static struct url_part take(const char **rest, const char *end, const char *stops)
{
	const char *begin = *rest;
	for (; *stops != '\0'; stops++) {
		const char *stop = memchr(begin, *stops, (size_t)(end - begin));
		if (stop)
			end = stop;
	}
	*rest = end;
	return (struct url_part){ begin, (size_t)(end - begin) };
}

static bool is_scheme(struct url_part part)
{
	for (size_t i = 0; i < part.len; i++) {
		unsigned char c = (unsigned char)part.text[i];
		if (!isalnum(c) && c != '+' && c != '-' && c != '.')
			return false;
	}
	return part.len > 0 && isalpha((unsigned char)part.text[0]);
}

static bool is_digits(struct url_part part)
{
	for (size_t i = 0; i < part.len; i++)
		if (!isdigit((unsigned char)part.text[i]))
			return false;
	return true;
}

static enum err split_authority(struct url_part authority, struct url *out)
{
	const char *begin = authority.text;
	const char *end = begin + authority.len;
	const char *at = memrchr(begin, '@', authority.len);
	if (at) {
		out->user = (struct url_part){ begin, (size_t)(at - begin) };
		begin = at + 1;
	}
	const char *host_end = memchr(begin, ':', (size_t)(end - begin));
	if (begin < end && *begin == '[') {
		host_end = memchr(begin, ']', (size_t)(end - begin));
		if (!host_end)
			return ERR_INVALID;
		host_end++;
	}
	if (!host_end)
		host_end = end;
	out->host = (struct url_part){ begin, (size_t)(host_end - begin) };
	if (host_end == end)
		return OK;
	out->port = (struct url_part){ host_end + 1, (size_t)(end - host_end - 1) };
	return *host_end == ':' && is_digits(out->port) ? OK : ERR_INVALID;
}

enum err url_split(const char *text, size_t len, struct url *out)
{
	const char *rest = text;
	const char *end = text + len;
	struct url url = { 0 };
	url.scheme = take(&rest, end, ":");
	if (!is_scheme(url.scheme) || end - rest < 3 || memcmp(rest, "://", 3) != 0)
		return ERR_INVALID;
	rest += 3;
	if (split_authority(take(&rest, end, "/?#\\"), &url) != OK)
		return ERR_INVALID;
	url.path = take(&rest, end, "?#");
	if (rest < end && *rest == '?') {
		rest++;
		url.query = take(&rest, end, "#");
	}
	if (rest < end)
		url.fragment = (struct url_part){ rest + 1, (size_t)(end - rest - 1) };
	*out = url;
	return OK;
}

bool url_part_is(struct url_part part, const char *text)
{
	return part.len == strlen(text) && strncasecmp(part.text, text, part.len) == 0;
}

enum err url_port(struct url_part part, uint16_t *out)
{
	uint32_t value = 0;
	if (!is_digits(part))
		return ERR_INVALID;
	for (size_t i = 0; i < part.len && value <= UINT16_MAX; i++)
		value = value * 10 + (uint32_t)(part.text[i] - '0');
	if (value == 0 || value > UINT16_MAX)
		return ERR_INVALID;
	*out = (uint16_t)value;
	return OK;
}

/* --- percent-encoding --- */

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int url_decode_next(const char *text, size_t len, size_t *at)
{
	char c = text[(*at)++];
	if (c != '%')
		return (unsigned char)c;
	if (len - *at < 2)
		return -1;
	int high = hex_digit(text[*at]);
	int low = hex_digit(text[*at + 1]);
	*at += 2;
	return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/* --- IPv6 hosts --- */

static bool parse_ipv6(const char *text, size_t len, struct in6_addr *out)
{
	char inside[INET6_ADDRSTRLEN];
	if (len < 2 || text[0] != '[' || text[len - 1] != ']' || len - 2 >= sizeof(inside))
		return false;
	memcpy(inside, text + 1, len - 2);
	inside[len - 2] = '\0';
	return strlen(inside) == len - 2 && inet_pton(AF_INET6, inside, out) == 1;
}

/* The first of the longest runs of at least two zero pieces. */
static void find_zeroes(const uint16_t piece[static 8], size_t *begin, size_t *count)
{
	*begin = 8;
	*count = 1;
	for (size_t i = 0; i < 8; i++) {
		size_t run = 0;
		while (i + run < 8 && piece[i + run] == 0)
			run++;
		if (run > *count) {
			*begin = i;
			*count = run;
		}
	}
}

/* Not inet_ntop: it writes some addresses with dots, which browsers never do. */
static void format_ipv6(const struct in6_addr *address, char out[static URL_IPV6_SIZE])
{
	uint16_t piece[8];
	for (size_t i = 0; i < 8; i++)
		piece[i] = (uint16_t)(address->s6_addr[2 * i] << 8 | address->s6_addr[2 * i + 1]);
	size_t begin;
	size_t count;
	find_zeroes(piece, &begin, &count);

	int at = snprintf(out, URL_IPV6_SIZE, "[");
	for (size_t i = 0; i < 8; i++) {
		size_t room = (size_t)(URL_IPV6_SIZE - at);
		if (i == begin) {
			at += snprintf(out + at, room, i == 0 ? "::" : ":");
			i += count - 1;
			continue;
		}
		at += snprintf(out + at, room, i == 7 ? "%x" : "%x:", piece[i]);
	}
	snprintf(out + at, (size_t)(URL_IPV6_SIZE - at), "]");
}

bool url_ipv6_normalise(const char *text, size_t len, char out[static URL_IPV6_SIZE])
{
	struct in6_addr address;
	if (!parse_ipv6(text, len, &address))
		return false;
	format_ipv6(&address, out);
	return true;
}

bool url_ipv6_is_ipv4(const char *text, size_t len, char out[static URL_IPV6_IPV4_SIZE])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	static const uint8_t translated[12] = { 0x00, 0x64, 0xff, 0x9b };
	struct in6_addr address;
	if (!parse_ipv6(text, len, &address))
		return false;
	const uint8_t *byte = address.s6_addr;
	if (memcmp(byte, mapped, sizeof(mapped)) != 0 &&
	    memcmp(byte, translated, sizeof(translated)) != 0)
		return false;
	snprintf(out, URL_IPV6_IPV4_SIZE, "%u.%u.%u.%u", byte[12], byte[13], byte[14], byte[15]);
	return true;
}
