/*
 * Pure. The URL of a destination check, parsed by libcurl, because libcurl will send the request.
 *
 * It accepts http and https on the usual ports of web servers (80, 443, 8080, 8443), so that checks
 * cannot be used to probe other services of a third party. It refuses user info and IPv6 zone ids.
 * It does not judge addresses: see global_resolver.h.
 */
#ifndef WAYMARK_SERVICES_JANITOR_DESTINATIONS_FETCH_URL_H
#define WAYMARK_SERVICES_JANITOR_DESTINATIONS_FETCH_URL_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"

#define FETCH_URL_SIZE 2049
#define FETCH_URL_HOST_SIZE 256

struct fetch_url {
	/* Without fragment. */
	char url[FETCH_URL_SIZE];
	/* "example.com", "192.0.2.1", "2001:db8::1": lower case, no brackets, no dot at the end */
	char host[FETCH_URL_HOST_SIZE];
	uint16_t port;
	bool is_https;
};

/* ERR_INVALID: not a URL that may be checked. ERR_LIMIT: its port is not allowed. */
enum err fetch_url_parse(const char *url, struct fetch_url *out) MUST_CHECK;

/* The same server with another path, such as "/robots.txt", and no query. Errors as above. */
enum err fetch_url_with_path(const struct fetch_url *url, const char *path,
                             struct fetch_url *out) MUST_CHECK;

#endif
