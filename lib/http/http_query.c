#include "lib/http/http_query.h"

#include <string.h>

#include "lib/base/url.h"
#include "lib/base/utf8.h"

/* Decodes one byte at *at and moves *at past it. -1: a malformed escape. */
static int decode_next(const char *text, size_t len, size_t *at)
{
	if (text[*at] != '+')
		return url_decode_next(text, len, at);
	(*at)++;
	return ' ';
}

static bool name_is(const char *raw, size_t len, const char *name)
{
	size_t at = 0;
	while (at < len) {
		int c = decode_next(raw, len, &at);
		if (c < 0 || *name == '\0' || c != (unsigned char)*name)
			return false;
		name++;
	}
	return *name == '\0';
}

static enum err decode(const char *raw, size_t len, char *out, size_t size)
{
	size_t at = 0, kept = 0;
	while (at < len) {
		int c = decode_next(raw, len, &at);
		if (c <= 0)
			return ERR_INVALID;
		if (kept + 1 >= size)
			return ERR_LIMIT;
		out[kept++] = (char)c;
	}
	if (size == 0)
		return ERR_LIMIT;
	out[kept] = '\0';
	return utf8_is_valid(out, kept) ? OK : ERR_INVALID;
}

enum err http_query_value(const char *query, const char *name, char *out, size_t size)
{
	for (;;) {
		size_t pair = strcspn(query, "&");
		const char *equals = memchr(query, '=', pair);
		size_t name_len = equals == NULL ? pair : (size_t)(equals - query);
		if (pair > 0 && name_is(query, name_len, name))
			return equals == NULL ? decode("", 0, out, size)
			                      : decode(equals + 1, pair - name_len - 1, out, size);
		if (query[pair] == '\0')
			return ERR_NOT_FOUND;
		query += pair + 1;
	}
}

enum err http_query_next(const char **query, char *name, size_t name_size, char *value,
                         size_t value_size)
{
	const char *at = *query + strspn(*query, "&");
	size_t pair = strcspn(at, "&");
	*query = at + pair;
	if (pair == 0)
		return ERR_NOT_FOUND;
	const char *equals = memchr(at, '=', pair);
	size_t name_len = equals == NULL ? pair : (size_t)(equals - at);
	enum err err = decode(at, name_len, name, name_size);
	if (err != OK) {
		name[0] = '\0';
		return err;
	}
	return equals == NULL ? decode("", 0, value, value_size)
	                      : decode(equals + 1, pair - name_len - 1, value, value_size);
}
