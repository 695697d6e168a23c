#include "services/links-api/http/cors.h"

#include <string.h>

#include "lib/base/array.h"
#include "lib/base/number.h"

#define SEPARATORS ", \t\r\n"
#define HOST_CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789.-_"
#define ADDRESS_CHARACTERS "0123456789abcdef:."
#define PORT_SIZE 6

/* The position after the scheme, and its default port. NULL: another scheme. */
static const char *skip_scheme(const char *origin, int64_t *default_port)
{
	static const struct {
		const char *text;
		int64_t port;
	} schemes[] = { { "https://", 443 }, { "http://", 80 } };
	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
		size_t len = strlen(schemes[i].text);
		if (strncmp(origin, schemes[i].text, len) != 0)
			continue;
		*default_port = schemes[i].port;
		return origin + len;
	}
	return NULL;
}

static size_t host_len(const char *host)
{
	if (*host != '[')
		return strspn(host, HOST_CHARACTERS);
	size_t len = 1 + strspn(host + 1, ADDRESS_CHARACTERS);
	return len > 1 && host[len] == ']' ? len + 1 : 0;
}

static bool is_port(const char *text, size_t len, int64_t default_port)
{
	char digits[PORT_SIZE];
	int64_t port;
	if (len == 0 || len >= sizeof(digits) || text[0] == '0')
		return false;
	memcpy(digits, text, len);
	digits[len] = '\0';
	return number_parse(digits, 1, UINT16_MAX, &port) == OK && port != default_port;
}

static bool is_origin(const char *origin, size_t len)
{
	int64_t default_port;
	const char *host = skip_scheme(origin, &default_port);
	if (!host || host_len(host) == 0)
		return false;
	const char *port = host + host_len(host);
	const char *end = origin + len;
	if (port >= end)
		return port == end;
	return *port == ':' && is_port(port + 1, (size_t)(end - port) - 1, default_port);
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
		"RateLimit-Policy, Retry-After, X-As-Of, X-Lag-Ms, X-Request-Id");
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
		"X-Api-Key, X-Request-Id");
	http_exchange_add_fixed_header(x, "Access-Control-Max-Age", "600");
}
