#include "lib/redis/redis_url.h"

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/number.h"
#include "lib/base/percent.h"

#define SCHEME "redis://"
#define DEFAULT_PORT 6379
#define DB_MAX 1023
#define HOST_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"
#define ADDRESS_CHARACTERS HOST_CHARACTERS ":%"

static enum err decode(const char *text, size_t len, char *out, size_t size)
{
	size_t n = 0;
	for (size_t at = 0; at < len;) {
		int c = percent_decode_next(text, len, &at);
		if (c <= 0 || n + 1 >= size)
			return ERR_INVALID;
		out[n++] = (char)c;
	}
	out[n] = '\0';
	return OK;
}

static enum err parse_user(const char *text, size_t len, struct redis_url *url)
{
	const char *colon = memchr(text, ':', len);
	if (!colon)
		return ERR_INVALID;
	enum err err = decode(text, (size_t)(colon - text), url->user, sizeof(url->user));
	if (err == OK)
		err = decode(colon + 1, len - (size_t)(colon + 1 - text), url->password,
		             sizeof(url->password));
	return err == OK && url->password[0] ? OK : ERR_INVALID;
}

static enum err parse_number(const char *text, size_t len, int64_t min, int64_t max, uint16_t *out)
{
	char digits[8];
	int64_t value = 0;
	if (len == 0 || len >= sizeof(digits))
		return ERR_INVALID;
	memcpy(digits, text, len);
	digits[len] = '\0';
	if (number_parse(digits, min, max, &value) != OK)
		return ERR_INVALID;
	*out = (uint16_t)value;
	return OK;
}

static enum err parse_host(const char *text, size_t len, struct redis_url *url)
{
	bool bracket = len > 0 && text[0] == '[';
	const char *host = bracket ? text + 1 : text;
	const char *end = text + len;
	const char *stop = memchr(host, bracket ? ']' : ':', (size_t)(end - host));
	if (bracket && !stop)
		return ERR_INVALID;
	size_t host_len = (size_t)((stop ? stop : end) - host);
	if (host_len == 0 || host_len >= sizeof(url->host) ||
	    strspn(host, bracket ? ADDRESS_CHARACTERS : HOST_CHARACTERS) < host_len)
		return ERR_INVALID;
	memcpy(url->host, host, host_len);
	url->host[host_len] = '\0';
	const char *rest = host + host_len + bracket;
	if (rest == end)
		return OK;
	if (*rest != ':')
		return ERR_INVALID;
	return parse_number(rest + 1, (size_t)(end - rest - 1), 1, UINT16_MAX, &url->port);
}

/* part is set to the part that is wrong. */
static enum err parse(const char *text, struct redis_url *out, const char **part)
{
	struct redis_url url = { .port = DEFAULT_PORT };
	*part = "the scheme";
	if (strncmp(text, SCHEME, sizeof(SCHEME) - 1) != 0)
		return ERR_INVALID;
	text += sizeof(SCHEME) - 1;
	size_t authority = strcspn(text, "/");
	const char *db = text + authority;
	enum err err = OK;
	const char *at = memrchr(text, '@', authority);
	*part = "the user or the password";
	if (at) {
		err = parse_user(text, (size_t)(at - text), &url);
		authority -= (size_t)(at + 1 - text);
		text = at + 1;
	}
	if (err == OK) {
		*part = "the host or the port";
		err = parse_host(text, authority, &url);
	}
	if (err == OK && db[0] == '/' && db[1] != '\0') {
		*part = "the database number";
		err = parse_number(db + 1, strlen(db + 1), 0, DB_MAX, &url.db);
	}
	if (err == OK)
		*out = url;
	return err;
}

enum err redis_url_parse(const char *text, struct redis_url *out)
{
	const char *part;
	return parse(text, out, &part);
}

size_t redis_url_check(const char *text, struct strbuf *problems)
{
	struct redis_url url;
	const char *part;
	if (parse(text, &url, &part) == OK)
		return 0;
	strbuf_add_format(
		problems,
		"REDIS_URL: %s is not valid; the form is redis://[user:password@]host:port[/db]; "
		"in a user or a password, write %% as %%25, / as %%2F and @ as %%40\n",
		part);
	return 1;
}
