/*
 * Two families of parsers read what we store: browsers (WHATWG URL standard) and everything built
 * on RFC 3986. They disagree about malformed input, and attackers exploit that. So this file
 * accepts only input with a single reading, and builds the normal form itself, with the escapes of
 * browsers: they are part of signed URLs. libcurl then parses the result as a cross-check: any
 * difference rejects the URL.
 */
#include "services/links-api/destinations/destination.h"

#include <assert.h>
#include <ctype.h>
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/array.h"
#include "lib/base/strbuf.h"
#include "lib/base/url.h"
#include "lib/base/utf8.h"

#define HTTP_PORT 80
#define HTTPS_PORT 443
#define TOO_LONG "must have at most 8192 bytes"

static_assert(LINK_URL_MAX == 8192, "TOO_LONG says it");

/* ASCII characters that browsers escape in each part, besides controls, spaces and non-ASCII. */
static const char escaped_in_path[] = "\"#<>?^`{}";
static const char escaped_in_query[] = "\"#<>'";
static const char escaped_in_fragment[] = "\"<>`";

static enum err reject(const char **reason, const char *because)
{
	*reason = because;
	return ERR_INVALID;
}

/* Browsers drop spaces and control bytes at both ends. */
static struct url_part trim(const char *text, size_t len)
{
	while (len > 0 && (unsigned char)text[len - 1] <= ' ')
		len--;
	for (; len > 0 && (unsigned char)text[0] <= ' '; len--)
		text++;
	return (struct url_part){ text, len };
}

static const char *find_forbidden(struct url_part input)
{
	if (!utf8_is_valid(input.text, input.len))
		return "is not valid UTF-8";
	for (size_t i = 0; i < input.len; i++) {
		if (input.text[i] == '\\')
			return "contains a backslash";
		/* Browsers drop it, but it may as well stand between two addresses. */
		if (strchr("\t\r\n", input.text[i]))
			return "contains a tab or a line break";
	}
	return NULL;
}

static enum err split(const char *text, size_t len, struct url *url, const char **reason)
{
	if ((len < 8 || strncasecmp(text, "https://", 8) != 0) &&
	    (len < 7 || strncasecmp(text, "http://", 7) != 0))
		return reject(reason, "must begin with http:// or https://");
	enum err err = url_split(text, len, url);
	if (err == OK && url->user.text)
		return reject(reason, "must not contain a username or password");
	return err == OK ? OK : reject(reason, "has a malformed host or port");
}

static bool is_https(const struct url *url)
{
	return url_part_is(url->scheme, "https");
}

static bool read_port(const struct url *url, uint16_t *port)
{
	*port = is_https(url) ? HTTPS_PORT : HTTP_PORT;
	return url->port.len == 0 || url_port(url->port, port) == OK;
}

static struct url_part take_segment(struct url_part *rest)
{
	const char *slash = memchr(rest->text, '/', rest->len);
	struct url_part taken = { rest->text, slash ? (size_t)(slash - rest->text) : rest->len };
	rest->text += taken.len;
	rest->len -= taken.len;
	return taken;
}

/* Escapes what browsers escape. What is an escape already, or only begins like one, stays. */
static void add_escaped(struct strbuf *out, struct url_part slice, const char *escaped)
{
	for (size_t i = 0; i < slice.len; i++) {
		unsigned char c = (unsigned char)slice.text[i];
		if (c <= ' ' || c >= 0x7f || strchr(escaped, c))
			strbuf_add_format(out, "%%%02X", (unsigned)c);
		else
			strbuf_add_char(out, (char)c);
	}
}

/* 1 for ".", 2 for "..", which "%2e" spells as well; 0: no dot segment. */
static int count_dots(struct url_part segment)
{
	int dots = 0;
	for (size_t i = 0; i < segment.len; dots++) {
		if (segment.text[i] == '.')
			i++;
		else if (segment.len - i >= 3 && strncasecmp(segment.text + i, "%2e", 3) == 0)
			i += 3;
		else
			return 0;
	}
	return dots <= 2 ? dots : 0;
}

static void drop_last_segment(struct strbuf *out, size_t path)
{
	while (out->len > path && out->data[out->len - 1] != '/')
		out->len--;
	if (out->len > path)
		out->len--;
	out->data[out->len] = '\0';
}

/* Removes dot segments (RFC 3986, 5.2.4). */
static void add_path(struct strbuf *out, struct url_part rest)
{
	size_t path = out->len;
	if (rest.len == 0)
		strbuf_add_char(out, '/');
	while (rest.len > 0) {
		rest.text++;
		rest.len--;
		struct url_part segment = take_segment(&rest);
		int dots = count_dots(segment);
		if (dots == 2)
			drop_last_segment(out, path);
		if (dots == 0 || rest.len == 0)
			strbuf_add_char(out, '/');
		if (dots == 0)
			add_escaped(out, segment, escaped_in_path);
	}
}

static void write_normal_form(const struct url *url, const struct destination *d,
                              struct strbuf *out, size_t *query, size_t *fragment, size_t *path)
{
	strbuf_add_format(out, "%s://%s", is_https(url) ? "https" : "http", d->host.text);
	if (d->port != (is_https(url) ? HTTPS_PORT : HTTP_PORT))
		strbuf_add_format(out, ":%u", (unsigned)d->port);
	*path = out->len;
	add_path(out, url->path);
	*query = out->len;
	if (url->query.text) {
		strbuf_add_char(out, '?');
		add_escaped(out, url->query, escaped_in_query);
	}
	*fragment = out->len;
	if (url->fragment.text) {
		strbuf_add_char(out, '#');
		add_escaped(out, url->fragment, escaped_in_fragment);
	}
}

static bool curl_part_equals(CURLU *curl, CURLUPart part, unsigned flags, const char *expected,
                             size_t len)
{
	char *read = NULL;
	CURLUcode code = curl_url_get(curl, part, &read, flags);
	bool same = code == CURLUE_OK ? strlen(read) == len && memcmp(read, expected, len) == 0
	                              : len == 0;
	curl_free(read);
	return same;
}

static bool curl_agrees(const struct destination *d)
{
	CURLU *curl = curl_url();
	char port[8];
	snprintf(port, sizeof(port), "%u", (unsigned)d->port);
	size_t query = d->query + (d->fragment > d->query);
	bool same =
		curl && curl_url_set(curl, CURLUPART_URL, d->url, 0) == CURLUE_OK &&
		curl_part_equals(curl, CURLUPART_SCHEME, 0, d->url, strcspn(d->url, ":")) &&
		curl_part_equals(curl, CURLUPART_HOST, 0, d->host.text, strlen(d->host.text)) &&
		curl_part_equals(curl, CURLUPART_PORT, CURLU_DEFAULT_PORT, port, strlen(port)) &&
		curl_part_equals(curl, CURLUPART_PATH, 0, d->url + d->path, d->query - d->path) &&
		curl_part_equals(curl, CURLUPART_QUERY, 0, d->url + query, d->fragment - query);
	curl_url_cleanup(curl);
	return same;
}

static enum err finish(const struct strbuf *normal, struct destination *d, const char **reason)
{
	if (strbuf_status(normal) != OK || normal->len > LINK_URL_MAX)
		return reject(reason, TOO_LONG);
	memcpy(d->url, normal->data, normal->len + 1);
	if (!curl_agrees(d))
		return reject(reason, "is ambiguous: URL parsers disagree about it");
	return OK;
}

enum err destination_parse(const char *text, size_t len, struct destination *out,
                           const char **reason)
{
	struct url url;
	struct destination d = { 0 };
	struct url_part input = trim(text, len);
	const char *forbidden = find_forbidden(input);
	if (forbidden)
		return reject(reason, forbidden);
	enum err err = split(input.text, input.len, &url, reason);
	if (err != OK)
		return err;
	if (!read_port(&url, &d.port))
		return reject(reason, "port must be 1 to 65535");
	err = destination_host_parse(url.host.text, url.host.len, &d.host, reason);
	if (err != OK)
		return err;

	struct strbuf normal;
	strbuf_init(&normal, 3 * input.len + sizeof(d.host.text) + 16);
	write_normal_form(&url, &d, &normal, &d.query, &d.fragment, &d.path);
	err = finish(&normal, &d, reason);
	if (err == OK)
		*out = d;
	strbuf_clear(&normal);
	return err;
}

const char *destination_code(const char *reason)
{
	static const struct {
		const char *reason, *code;
	} codes[] = {
		{ "is not valid UTF-8", "utf8" },
		{ "contains a backslash", "url-backslash" },
		{ "contains a tab or a line break", "control-character" },
		{ "contains a control character", "control-character" }, /* app_url.c */
		{ "must begin with http:// or https://", "url-scheme" },
		{ "must not contain a username or password", "url-user" },
		{ "has a malformed host or port", "url-host" },
		{ "port must be 1 to 65535", "url-port" },
		{ "has no host", "url-no-host" },
		{ "has a host that is too long", "url-host-too-long" },
		{ "has a malformed IPv6 address", "url-address" },
		{ "has a malformed IPv4 address", "url-address" },
		{ "has an invalid host name", "url-host-name" },
		{ TOO_LONG, "too-many-bytes" },
		{ "is ambiguous: URL parsers disagree about it", "url-ambiguous" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (strcmp(codes[i].reason, reason) == 0)
			return codes[i].code;
	return "malformed";
}

/* --- for people --- */

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

void destination_show(const char *url, char out[static DESTINATION_SHOWN_SIZE])
{
	const char *host;
	char *end = out;
	size_t host_len = link_url_host(url, &host);
	size_t begin = host_len > 0 ? (size_t)(host - url) : 0;
	end = mempcpy(end, url, begin);
	if (host_len > 0 && destination_host_to_unicode(host, host_len, end))
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
