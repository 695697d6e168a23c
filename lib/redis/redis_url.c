#include "lib/redis/redis_url.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/number.h"
#include "lib/base/url.h"

#define SCHEME "redis://"
#define DEFAULT_PORT 6379
#define DB_MAX 1023
#define URL_SIZE 512
#define HOST_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"
#define ADDRESS_CHARACTERS HOST_CHARACTERS ":%"

static enum err decode(const char *text, size_t len, char *out, size_t size)
{
	size_t n = 0;
	for (size_t at = 0; at < len;) {
		int c = url_decode_next(text, len, &at);
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

static enum err parse_host(struct url_part host, struct redis_url *url)
{
	bool bracket = host.len > 0 && host.text[0] == '[';
	if (bracket)
		host = (struct url_part){ host.text + 1, host.len - 2 };
	if (host.len == 0 || host.len >= sizeof(url->host) ||
	    strspn(host.text, bracket ? ADDRESS_CHARACTERS : HOST_CHARACTERS) < host.len)
		return ERR_INVALID;
	memcpy(url->host, host.text, host.len);
	url->host[host.len] = '\0';
	return OK;
}

/* "", "/" or "/15"; it is the end of the URL. */
static enum err parse_db(const char *path, struct redis_url *url)
{
	int64_t db = 0;
	if (*path != '\0' && *path != '/')
		return ERR_INVALID;
	if (*path == '/' && path[1] != '\0' && number_parse(path + 1, 0, DB_MAX, &db) != OK)
		return ERR_INVALID;
	url->db = (uint16_t)db;
	return OK;
}

/* part is set to the part that is wrong. A password may have any character but "/". */
static enum err parse(const char *text, struct redis_url *out, const char **part)
{
	struct url parts;
	struct redis_url url = { .port = DEFAULT_PORT };
	char without_user[URL_SIZE];
	*part = "the scheme";
	if (strncmp(text, SCHEME, sizeof(SCHEME) - 1) != 0)
		return ERR_INVALID;
	text += sizeof(SCHEME) - 1;
	*part = "the user or the password";
	const char *at = memrchr(text, '@', strcspn(text, "/"));
	if (at && parse_user(text, (size_t)(at - text), &url) != OK)
		return ERR_INVALID;
	*part = "the host or the port";
	int len = snprintf(without_user, sizeof(without_user), SCHEME "%s", at ? at + 1 : text);
	if (len >= (int)sizeof(without_user) ||
	    url_split(without_user, (size_t)len, &parts) != OK ||
	    parse_host(parts.host, &url) != OK ||
	    (parts.port.text && url_port(parts.port, &url.port) != OK))
		return ERR_INVALID;
	*part = "the database number";
	if (parse_db(parts.path.text, &url) != OK)
		return ERR_INVALID;
	*out = url;
	return OK;
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
