#include "lib/links/link_forward.h"

#include <ctype.h>
#include <string.h>

#include "lib/base/url.h"

/* RFC 3986, pchar beside letters and digits. A query has "?" and "/" as well. */
static const char kept_in_path[] = "-._~!$&'()*+,;=:@";
/* Without "'", which browsers escape, and "&", which ends a parameter. */
static const char kept_in_query[] = "-._~!$()*+,;=:@/?";

/* More of them from one visitor are not forwarded: each is compared with each of the destination. */
#define PARAMETERS_MAX 100
/* Escapes of escapes of escapes: "%25252e". */
#define DECODED_MAX 3

/* --- escapes --- */

static bool is_escape(const char *text, size_t len)
{
	size_t at = 0;
	return len > 0 && text[0] == '%' && url_decode_next(text, len, &at) >= 0;
}

static void add_escaped(struct strbuf *out, const char *text, size_t len, const char *kept)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];
		if ((c < 0x80 && isalnum(c)) || strchr(kept, c) || is_escape(text + i, len - i))
			strbuf_add_char(out, (char)c);
		else
			strbuf_add_format(out, "%%%02X", (unsigned)c);
	}
}

/* The next byte as browsers decode it: a "%" that begins no escape stands for itself. */
static unsigned char decode(const char *text, size_t len, size_t *at)
{
	if (is_escape(text + *at, len - *at))
		return (unsigned char)url_decode_next(text, len, at);
	return (unsigned char)text[(*at)++];
}

/* --- the path --- */

/* Decodes in place, once. Returns the new length. */
static size_t decode_all(char *text, size_t len)
{
	size_t kept = 0;
	for (size_t at = 0; at < len;)
		text[kept++] = (char)decode(text, len, &at);
	return kept;
}

/*
 * UTF-8 that is longer than it need be ("\xc0\xae" for "."), which careless servers take for the
 * character.
 */
static bool is_overlong(unsigned char c, unsigned char next)
{
	return c == 0xc0 || c == 0xc1 || (c == 0xe0 && next < 0xa0) || (c == 0xf0 && next < 0x90);
}

static bool is_dot_segment(const char *text, size_t len)
{
	const char *parameters = len > 0 ? memchr(text, ';', len) : NULL;
	if (parameters)
		len = (size_t)(parameters - text);
	return (len == 1 || len == 2) && text[0] == '.' && text[len - 1] == '.';
}

static bool has_wrong_byte(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];
		unsigned char next = i + 1 < len ? (unsigned char)text[i + 1] : 0;
		if (c < ' ' || c == 0x7f || is_overlong(c, next))
			return true;
	}
	return false;
}

static bool has_dot_segment(const char *text, size_t len)
{
	size_t begin = 0;
	for (size_t i = 0; i <= len; i++) {
		if (i < len && text[i] != '/' && text[i] != '\\')
			continue;
		if (is_dot_segment(text + begin, i - begin))
			return true;
		begin = i + 1;
	}
	return false;
}

/*
 * Whether nobody can take the rest of a path for one that climbs. It may be decoded more than once
 * on its way through proxies; what is escaped still more often has no other purpose.
 */
static bool is_safe(const char *rest, size_t len)
{
	char text[LINK_FORWARD_BYTES_MAX];
	if (len > sizeof(text))
		return false;
	memcpy(text, rest, len);
	for (int times = 0; times <= DECODED_MAX; times++) {
		if (has_wrong_byte(text, len) || has_dot_segment(text, len))
			return false;
		size_t decoded = decode_all(text, len);
		if (decoded == len)
			return true;
		len = decoded;
	}
	return false;
}

/* out ends with a path, which is not empty. */
static void add_rest(struct strbuf *out, const char *rest)
{
	for (size_t len; *rest != '\0'; rest += len) {
		rest += strspn(rest, "/");
		len = strcspn(rest, "/");
		if (out->data[out->len - 1] != '/')
			strbuf_add_char(out, '/');
		add_escaped(out, rest, len, kept_in_path);
	}
}

/* --- the query --- */

struct pair {
	const char *text;
	size_t len;
	size_t name_len;
};

/* Reads the next pair that is not empty, up to end. False: there is none. */
static bool next_pair(const char **at, const char *end, struct pair *out)
{
	const char *text = *at;
	while (text < end && *text == '&')
		text++;
	const char *stop = memchr(text, '&', (size_t)(end - text));
	if (!stop)
		stop = end;
	const char *equals = memchr(text, '=', (size_t)(stop - text));
	*out = (struct pair){ text, (size_t)(stop - text),
		              (size_t)((equals ? equals : stop) - text) };
	*at = stop;
	return out->len > 0;
}

static unsigned char decode_name(const struct pair *pair, size_t *at)
{
	unsigned char c = (unsigned char)pair->text[*at];
	if (c != '+')
		return decode(pair->text, pair->name_len, at);
	(*at)++;
	return ' ';
}

static bool has_name_of(const struct pair *a, const struct pair *b)
{
	size_t at_a = 0, at_b = 0;
	while (at_a < a->name_len && at_b < b->name_len)
		if (decode_name(a, &at_a) != decode_name(b, &at_b))
			return false;
	return at_a == a->name_len && at_b == b->name_len;
}

static bool is_scan(const struct pair *pair)
{
	return pair->len == 4 && memcmp(pair->text, "qr=1", 4) == 0;
}

bool link_forward_is_scan(const char *query)
{
	const char *end = query + strlen(query);
	for (struct pair pair; next_pair(&query, end, &pair);)
		if (is_scan(&pair))
			return true;
	return false;
}

struct pairs {
	size_t count;
	struct pair pair[PARAMETERS_MAX];
};

/* The visitor's parameters that are to be forwarded. False: too many. */
static bool read_pairs(const char *query, struct pairs *out)
{
	const char *end = query + strlen(query);
	out->count = 0;
	for (struct pair pair; next_pair(&query, end, &pair);) {
		if (is_scan(&pair))
			continue;
		if (out->count == PARAMETERS_MAX)
			return false;
		out->pair[out->count++] = pair;
	}
	return true;
}

static bool is_replaced(const struct pair *pair, const struct pairs *by)
{
	for (size_t i = 0; i < by->count; i++)
		if (has_name_of(pair, &by->pair[i]))
			return true;
	return false;
}

static void add_query(struct strbuf *out, struct url_part own, const struct pairs *typed)
{
	char before = '?';
	const char *at = own.text ? own.text : "", *end = at + own.len;
	for (struct pair pair; next_pair(&at, end, &pair);) {
		if (is_replaced(&pair, typed))
			continue;
		strbuf_add_char(out, before);
		strbuf_add(out, pair.text, pair.len);
		before = '&';
	}
	for (size_t i = 0; i < typed->count; i++) {
		strbuf_add_char(out, before);
		add_escaped(out, typed->pair[i].text, typed->pair[i].len, kept_in_query);
		before = '&';
	}
}

/* --- the whole --- */

static void add_all(struct strbuf *out, const char *destination, const struct url *url,
                    const char *rest, const struct pairs *typed)
{
	const char *path_end = url->path.text + url->path.len;
	strbuf_add(out, destination, (size_t)(path_end - destination));
	if (rest[strspn(rest, "/")] != '\0') {
		if (url->path.len == 0)
			strbuf_add_char(out, '/');
		add_rest(out, rest);
	}
	const char *query_end = url->query.text ? url->query.text + url->query.len : path_end;
	if (typed->count > 0)
		add_query(out, url->query, typed);
	else
		strbuf_add(out, path_end, (size_t)(query_end - path_end));
	strbuf_add_text(out, query_end);
}

void link_forward_build(const char *destination, const char *query, const char *rest,
                        bool forward_query, bool forward_path, struct strbuf *out)
{
	struct url url;
	struct pairs typed;
	if (!forward_path)
		rest = "";
	strbuf_reset(out);
	if (url_split(destination, strlen(destination), &url) == OK &&
	    read_pairs(forward_query ? query : "", &typed) && is_safe(rest, strlen(rest))) {
		add_all(out, destination, &url, rest, &typed);
		if (strbuf_status(out) == OK && out->len <= LINK_FORWARD_BYTES_MAX)
			return;
		strbuf_reset(out);
	}
	strbuf_add_text(out, destination);
}
