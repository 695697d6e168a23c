#include "services/links-api/http/cors.h"

#include <string.h>

#include "lib/base/url.h"

#define SEPARATORS ", \t\r\n"
#define HOST_CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789.-_"
#define ADDRESS_CHARACTERS "0123456789abcdef:."

static size_t host_len(const char *host)
{
	if (*host != '[')
		return strspn(host, HOST_CHARACTERS);
	size_t len = 1 + strspn(host + 1, ADDRESS_CHARACTERS);
	return len > 1 && host[len] == ']' ? len + 1 : 0;
}

static bool is_origin(const char *origin, size_t len)
{
	struct url url;
	uint16_t port;
	bool is_https = strncmp(origin, "https://", 8) == 0;
	if ((!is_https && strncmp(origin, "http://", 7) != 0) ||
	    url_split(origin, len, &url) != OK || url.user.text || url.path.len > 0 ||
	    url.query.text || url.fragment.text || url.host.len == 0 ||
	    host_len(url.host.text) != url.host.len)
		return false;
	return !url.port.text || (*url.port.text != '0' && url_port(url.port, &port) == OK &&
	                          port != (is_https ? 443 : 80));
}

enum err cors_init(struct cors *cors, const char *origins)
{
	for (const char *at = origins; *(at += strspn(at, SEPARATORS));) {
		size_t len = strcspn(at, SEPARATORS);
		if (!is_origin(at, len))
			return ERR_INVALID;
		at += len;
	}
	*cors = (struct cors){ .origins = origins };
	return OK;
}

bool cors_allows(const struct cors *cors, const char *origin)
{
	size_t wanted = strlen(origin);
	for (const char *at = cors->origins; *(at += strspn(at, SEPARATORS));) {
		size_t len = strcspn(at, SEPARATORS);
		if (len == wanted && memcmp(at, origin, len) == 0)
			return true;
		at += len;
	}
	return false;
}

static const char *allowed_origin(const struct cors *cors, const struct http_exchange *x)
{
	const char *origin = http_exchange_header(x, "Origin");
	return origin && cors_allows(cors, origin) ? origin : NULL;
}

void cors_add_headers(const struct cors *cors, struct http_exchange *x)
{
	if (cors->origins[strspn(cors->origins, SEPARATORS)] == '\0')
		return;
	http_exchange_add_fixed_header(x, "Vary", "Origin");
	const char *origin = allowed_origin(cors, x);
	if (!origin || http_exchange_add_header(x, "Access-Control-Allow-Origin", origin) != OK)
		return;
	http_exchange_add_fixed_header(
		x, "Access-Control-Expose-Headers",
		"Content-Disposition, ETag, Idempotency-Replayed, Location, RateLimit, "
		"RateLimit-Policy, Retry-After, X-As-Of, X-Complete-Until, X-Lag-Ms, X-Request-Id");
}

void cors_add_preflight_headers(const struct cors *cors, struct http_exchange *x,
                                const char *methods)
{
	if (!http_exchange_header(x, "Access-Control-Request-Method") || !allowed_origin(cors, x))
		return;
	if (http_exchange_add_header(x, "Access-Control-Allow-Methods", methods) != OK)
		return;
	http_exchange_add_fixed_header(
		x, "Access-Control-Allow-Headers",
		"Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, "
		"Last-Event-ID, X-Api-Key, X-Request-Id");
	http_exchange_add_fixed_header(x, "Access-Control-Max-Age", "600");
}
