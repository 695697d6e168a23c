#include "lib/base/url.h"

#include <ctype.h>
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
