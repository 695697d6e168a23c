#include "lib/redis/redis_url.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/base/number.h"
#include "lib/base/url.h"

#define DEFAULT_PORT 6379
#define DB_MAX 1023
#define HOST_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"
#define ADDRESS_CHARACTERS HOST_CHARACTERS ":%"

#define NEEDS_TLS "asks for TLS in another form: write rediss://user:password@host:port"
#define NEEDS_A_PROXY                                                                              \
	"names a Sentinel or a cluster, which are not supported: write redis:// and the address "  \
	"of a proxy that follows the master (docs/stores.md)"

static enum err decode(const char *text, size_t len, char *out, size_t size)
{
	size_t n = 0;
	for (size_t at = 0; at < len;) {
		int c = url_decode_next(text, len, &at);
		if (c <= 0)
			return ERR_INVALID;
		if (n + 1 >= size)
			return ERR_LIMIT;
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
	return err == OK && !url->password[0] ? ERR_INVALID : err;
}

static enum err parse_db(const char *text, struct redis_url *url)
{
	int64_t db = 0;
	enum err err = text[0] ? number_parse(text, 0, DB_MAX, &db) : OK;
	url->db = (uint16_t)db;
	return err;
}

/* "host:port/db": host to the end of the URL. A bracketed address loses its brackets. */
static enum err parse_server(const char *text, struct redis_url *url, const char **part)
{
	struct url parts;
	char with_scheme[512];
	*part = "the host or the port";
	int len = snprintf(with_scheme, sizeof(with_scheme), "redis://%s", text);
	if (len >= (int)sizeof(with_scheme) || url_split(with_scheme, (size_t)len, &parts) != OK ||
	    (parts.port.text && url_port(parts.port, &url->port) != OK))
		return ERR_INVALID;
	struct url_part host = parts.host;
	bool bracket = host.len > 0 && host.text[0] == '[';
	if (bracket)
		host = (struct url_part){ host.text + 1, host.len - 2 };
	if (host.len == 0 || host.len >= sizeof(url->host) ||
	    strspn(host.text, bracket ? ADDRESS_CHARACTERS : HOST_CHARACTERS) < host.len)
		return ERR_INVALID;
	memcpy(url->host, host.text, host.len);
	url->host[host.len] = '\0';
	*part = "the database number";
	return parse_db(parts.path.text + (parts.path.text[0] == '/'), url);
}

/* "/run/redis.sock?db=1" */
static enum err parse_socket(const char *text, struct redis_url *url, const char **part)
{
	size_t len = strcspn(text, "?");
	*part = "the path of the socket";
	if (text[0] != '/' || decode(text, len, url->socket, sizeof(url->socket)) != OK)
		return ERR_INVALID;
	*part = "the database number";
	if (text[len] == '\0')
		return OK;
	return strncmp(text + len, "?db=", 4) == 0 ? parse_db(text + len + 4, url) : ERR_INVALID;
}

/* *part is set to the part that is wrong. A password may have any character but "/". */
static enum err parse(const char *text, struct redis_url *out, const char **part)
{
	struct redis_url url = { .port = DEFAULT_PORT };
	bool is_socket = strncasecmp(text, "unix://", strlen("unix://")) == 0;
	*part = "the scheme";
	url.is_tls = strncasecmp(text, "rediss://", strlen("rediss://")) == 0;
	if (!is_socket && !url.is_tls && strncasecmp(text, "redis://", strlen("redis://")) != 0)
		return ERR_INVALID;
	text = strchr(text, '/') + 2;
	const char *at = memrchr(text, '@', strcspn(text, "/"));
	enum err err = at ? parse_user(text, (size_t)(at - text), &url) : OK;
	*part = err == ERR_LIMIT ? "the user (at most 127 bytes) or the password (at most 1,024)"
	                         : "the user or the password";
	if (err != OK)
		return ERR_INVALID;
	text = at ? at + 1 : text;
	err = is_socket ? parse_socket(text, &url, part) : parse_server(text, &url, part);
	if (err != OK)
		return ERR_INVALID;
	*out = url;
	return OK;
}

enum err redis_url_parse(const char *text, struct redis_url *out)
{
	const char *part;
	return parse(text, out, &part);
}

/* Schemes that other clients know: valkeys, redis+tls, redis-sentinel, redis+cluster. */
static const char *reason_of_refusal(const char *text)
{
	char scheme[32];
	const char *end = strstr(text, "://");
	snprintf(scheme, sizeof(scheme), "%.*s", end ? (int)(end - text) : 0, text);
	if (strcasestr(scheme, "sentinel") || strcasestr(scheme, "cluster"))
		return NEEDS_A_PROXY;
	return strcasestr(scheme, "valkeys") || strcasestr(scheme, "tls") ||
	                       strcasestr(scheme, "ssl")
	               ? NEEDS_TLS
	               : NULL;
}

const char *redis_url_address(const struct redis_url *url, char text[static REDIS_URL_ADDRESS_SIZE])
{
	bool is_ipv6 = strchr(url->host, ':');
	if (url->socket[0])
		snprintf(text, REDIS_URL_ADDRESS_SIZE, "%s", url->socket);
	else
		snprintf(text, REDIS_URL_ADDRESS_SIZE, is_ipv6 ? "[%s]:%d" : "%s:%d", url->host,
		         url->port);
	return text;
}

size_t redis_url_check(const char *text, struct strbuf *problems)
{
	struct redis_url url;
	const char *part;
	if (parse(text, &url, &part) == OK)
		return 0;
	const char *reason = reason_of_refusal(text);
	if (reason)
		return env_expect(false, "REDIS_URL", reason, problems);
	strbuf_add_format(
		problems,
		"REDIS_URL: %s is not valid; the form is redis://[user:password@]host:port[/db], rediss:// "
		"(TLS) or unix://[user:password@]/path[?db=N]; in a user, a password or a path, write %% as "
		"%%25, / as %%2F, ? as %%3F and @ as %%40\n",
		part);
	return 1;
}
