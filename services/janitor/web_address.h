/*
 * Pure. Where a destination check may ask: a URL as libcurl reads it, because libcurl will send the request. http and
 * https only, on ports where web servers live (80, 443, 8080, 8443), so that nobody can have a stranger's other
 * services knocked at; no user info, no address with an interface. Never the judge of addresses: see global_lookup.h.
 */
#ifndef WAYMARK_SERVICES_JANITOR_WEB_ADDRESS_H
#define WAYMARK_SERVICES_JANITOR_WEB_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"

#define WEB_ADDRESS_URL_SIZE 2049
#define WEB_ADDRESS_HOST_SIZE 256

struct web_address {
	char url[WEB_ADDRESS_URL_SIZE]; /* without fragment */
	char host
		[WEB_ADDRESS_HOST_SIZE]; /* "example.com", "192.0.2.1", "2001:db8::1": lower case, no brackets, no dot at the end */
	uint16_t port;
	bool is_https;
};

/* ERR_INVALID: it is none that is asked. ERR_LIMIT: it is a URL, but at a port that is not asked. */
enum err web_address_parse(const char *url, struct web_address *out) MUST_CHECK;

/* Another path of the same server: "/robots.txt". */
enum err web_address_at(const struct web_address *address, const char *path, struct web_address *out) MUST_CHECK;

#endif
