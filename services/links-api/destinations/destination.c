/*
 * Two families of parsers will read what we store: browsers (WHATWG URL standard) and everything built on RFC 3986.
 * They disagree about sloppy input in ways that attackers like, so the normal form is written by us, piece by piece,
 * from input that leaves no room for two readings, escaped exactly as browsers would escape it. libcurl then reads the
 * result as a witness: what it reads differently is refused.
 */
#include "services/links-api/destinations/destination.h"

#include <ctype.h>
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/strbuf.h"
#include "lib/base/utf8.h"

#define HTTP_PORT 80
#define HTTPS_PORT 443

/* ASCII characters that browsers escape in each part, beside controls, space and everything beyond ASCII. */
static const char escaped_in_path[] = "\"#<>?^`{}";
static const char escaped_in_query[] = "\"#<>'";
static const char escaped_in_fragment[] = "\"<>`";

struct span {
	const char *text;
	size_t len;
};

struct parts {
	bool is_https;
	struct span host, port, path, query, fragment; /* with their "?" and "#"; text NULL = absent */
};

static enum err refuse(const char **reason, const char *because)
{
	*reason = because;
	return ERR_INVALID;
}

static const char *find_forbidden(const char *text, size_t len)
{
	if (!utf8_is_valid(text, len))
		return "is not valid UTF-8";
	for (size_t i = 0; i < len; i += utf8_next(text + i, len - i)) {
		if (text[i] == '\\')
			return "contains a backslash";
		if (text[i] == ' ')
			return "contains a space (write %20)";
		if (utf8_is_control(text + i))
			return "contains a control character";
		bool is_escape =
			i + 2 < len && isxdigit((unsigned char)text[i + 1]) && isxdigit((unsigned char)text[i + 2]);
		if (text[i] == '%' && !is_escape)
			return "contains a % without two hexadecimal digits (write %25)";
	}
	return NULL;
}

static struct span take_until(struct span *rest, const char *stops)
{
	struct span taken = { rest->text, 0 };
	while (taken.len < rest->len && !strchr(stops, rest->text[taken.len]))
		taken.len++;
	rest->text += taken.len;
	rest->len -= taken.len;
	return taken;
}

static bool split_authority(struct span authority, struct parts *parts)
{
	parts->host = authority;
	size_t colon = authority.len;
	while (colon > 0 && authority.text[colon - 1] != ':' && authority.text[colon - 1] != ']')
		colon--;
	if (colon == 0 || authority.text[colon - 1] == ']')
		return true;
	parts->port = (struct span){ authority.text + colon, authority.len - colon };
	parts->host.len = colon - 1;
	/* An IPv6 address without brackets, or "a:1:2". */
	return authority.text[0] == '[' || !memchr(authority.text, ':', parts->host.len);
}

static enum err split(const char *text, size_t len, struct parts *parts, const char **reason)
{
	*parts = (struct parts){ 0 };
	size_t scheme_len = strlen("http://");
	if (len >= strlen("https://") && strncasecmp(text, "https://", strlen("https://")) == 0) {
		parts->is_https = true;
		scheme_len++;
	} else if (len < scheme_len || strncasecmp(text, "http://", scheme_len) != 0) {
		return refuse(reason, "does not begin with http:// or https://");
	}
	struct span rest = { text + scheme_len, len - scheme_len };
	struct span authority = take_until(&rest, "/?#");
	if (memchr(authority.text, '@', authority.len))
		return refuse(reason, "contains user information");
	if (!split_authority(authority, parts))
		return refuse(reason, "has a malformed host or port");
	parts->path = take_until(&rest, "?#");
	if (rest.len > 0 && rest.text[0] == '?')
		parts->query = take_until(&rest, "#");
	if (rest.len > 0)
		parts->fragment = rest;
	return OK;
}

static bool read_port(const struct parts *parts, uint16_t *port)
{
	*port = parts->is_https ? HTTPS_PORT : HTTP_PORT;
	if (parts->port.len == 0)
		return true;
	uint32_t value = 0;
	for (size_t i = 0; i < parts->port.len; i++) {
		if (!isdigit((unsigned char)parts->port.text[i]))
			return false;
		value = value * 10 + (uint32_t)(parts->port.text[i] - '0');
		if (value > UINT16_MAX)
			return false;
	}
	*port = (uint16_t)value;
	return value > 0;
}

static bool is_unreserved(unsigned char c)
{
	return isalnum(c) || (c && strchr("-._~", c));
}

/* RFC 3986, 6.2.2.1 and 6.2.2.2, and the escapes that browsers add. */
static void add_normalised(struct strbuf *out, struct span span, const char *escaped)
{
	for (size_t i = 0; i < span.len; i++) {
		unsigned char c = (unsigned char)span.text[i];
		if (c == '%') {
			char digits[3] = { span.text[i + 1], span.text[i + 2], '\0' };
			unsigned value = (unsigned)strtoul(digits, NULL, 16);
			i += 2;
			if (is_unreserved((unsigned char)value))
				strbuf_add_char(out, (char)value);
			else
				strbuf_add_format(out, "%%%02X", value);
		} else if (c <= ' ' || c >= 0x7f || strchr(escaped, c)) {
			strbuf_add_format(out, "%%%02X", (unsigned)c);
		} else {
			strbuf_add_char(out, (char)c);
		}
	}
}

static void drop_last_segment(struct strbuf *out, size_t path)
{
	while (out->len > path && out->data[out->len - 1] != '/')
		out->len--;
	if (out->len > path)
		out->len--;
	out->data[out->len] = '\0';
}

/* RFC 3986, 5.2.4, after escapes were normalised: "%2e%2e" is a dot segment, too. */
static void add_path(struct strbuf *out, struct span rest)
{
	size_t path = out->len;
	if (rest.len == 0)
		strbuf_add_char(out, '/');
	while (rest.len > 0) {
		rest.text++;
		rest.len--;
		struct span raw = take_until(&rest, "/");
		size_t begin = out->len;
		strbuf_add_char(out, '/');
		add_normalised(out, raw, escaped_in_path);

		const char *segment = out->data + begin + 1;
		bool is_parent = strcmp(segment, "..") == 0;
		if (!is_parent && strcmp(segment, ".") != 0)
			continue;
		drop_last_segment(out, path);
		if (is_parent)
			drop_last_segment(out, path);
		if (rest.len == 0)
			strbuf_add_char(out, '/');
	}
}

static void write_normal_form(const struct parts *parts, const struct destination *d, struct strbuf *out, size_t *query,
                              size_t *fragment, size_t *path)
{
	strbuf_add_format(out, "%s://%s", parts->is_https ? "https" : "http", d->host.text);
	if (d->port != (parts->is_https ? HTTPS_PORT : HTTP_PORT))
		strbuf_add_format(out, ":%u", (unsigned)d->port);
	*path = out->len;
	add_path(out, parts->path);
	*query = out->len;
	add_normalised(out, parts->query, escaped_in_query);
	*fragment = out->len;
	if (parts->fragment.text) {
		strbuf_add_char(out, '#');
		add_normalised(out, (struct span){ parts->fragment.text + 1, parts->fragment.len - 1 },
		               escaped_in_fragment);
	}
}

static bool curl_reads(CURLU *curl, CURLUPart part, unsigned flags, const char *expected, size_t len)
{
	char *read = NULL;
	CURLUcode code = curl_url_get(curl, part, &read, flags);
	bool same = code == CURLUE_OK ? strlen(read) == len && memcmp(read, expected, len) == 0 : len == 0;
	curl_free(read);
	return same;
}

static bool curl_agrees(const struct destination *d)
{
	CURLU *curl = curl_url();
	char port[8];
	snprintf(port, sizeof(port), "%u", (unsigned)d->port);
	size_t query = d->query + (d->fragment > d->query);
	bool same = curl && curl_url_set(curl, CURLUPART_URL, d->url, 0) == CURLUE_OK &&
	            curl_reads(curl, CURLUPART_SCHEME, 0, d->url, strcspn(d->url, ":")) &&
	            curl_reads(curl, CURLUPART_HOST, 0, d->host.text, strlen(d->host.text)) &&
	            curl_reads(curl, CURLUPART_PORT, CURLU_DEFAULT_PORT, port, strlen(port)) &&
	            curl_reads(curl, CURLUPART_PATH, 0, d->url + d->path, d->query - d->path) &&
	            curl_reads(curl, CURLUPART_QUERY, 0, d->url + query, d->fragment - query);
	curl_url_cleanup(curl);
	return same;
}

static enum err finish(const struct strbuf *normal, struct destination *d, const char **reason)
{
	if (strbuf_status(normal) != OK || normal->len > LINK_URL_MAX)
		return refuse(reason, "is longer than 2048 bytes");
	memcpy(d->url, normal->data, normal->len + 1);
	if (!curl_agrees(d))
		return refuse(reason, "is read differently by different programs");
	return OK;
}

enum err destination_parse(const char *text, size_t len, struct destination *out, const char **reason)
{
	struct parts parts;
	struct destination d = { 0 };
	const char *forbidden = find_forbidden(text, len);
	if (forbidden)
		return refuse(reason, forbidden);
	enum err err = split(text, len, &parts, reason);
	if (err != OK)
		return err;
	if (!read_port(&parts, &d.port))
		return refuse(reason, "has a port that is no number from 1 to 65535");
	err = destination_host_parse(parts.host.text, parts.host.len, &d.host, reason);
	if (err != OK)
		return err;

	struct strbuf normal;
	strbuf_init(&normal, 3 * len + sizeof(d.host.text) + 16);
	write_normal_form(&parts, &d, &normal, &d.query, &d.fragment, &d.path);
	err = finish(&normal, &d, reason);
	if (err == OK)
		*out = d;
	strbuf_clear(&normal);
	return err;
}
