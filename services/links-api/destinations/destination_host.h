/*
 * Hosts of destinations, in the form that browsers use (WHATWG URL standard, "host parsing"). Names
 * become lower-case A-labels (host_idna.h). IPv4 addresses in any notation
 * become four decimal numbers, IPv6 addresses become compressed and bracketed. Sometimes stricter
 * than browsers, never more lenient. Pure.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_DESTINATIONS_DESTINATION_HOST_H
#define WAYMARK_SERVICES_LINKS_API_DESTINATIONS_DESTINATION_HOST_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"

#define DESTINATION_HOST_MAX 254 /* 253 and a trailing dot */
#define DESTINATION_HOST_INPUT_MAX 1024

struct destination_host {
	/* "example.com", "127.0.0.1", "[::1]". */
	char text[DESTINATION_HOST_MAX + 1];
	bool is_address;
};

/*
 * text: the len bytes between "://" and the port, valid UTF-8. ERR_INVALID: browsers or this
 * service reject the host; reason is a string literal.
 */
enum err destination_host_parse(const char *text, size_t len, struct destination_host *out,
                                const char **reason) MUST_CHECK;

/*
 * True if both name the same host. Ignores a trailing dot and an IPv6 wrapping of an IPv4 address
 * (url_ipv6_is_ipv4).
 */
bool destination_host_equal(const struct destination_host *a, const struct destination_host *b);

#endif
