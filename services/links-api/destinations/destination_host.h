/*
 * Pure. Hosts of destinations in the form that browsers give them (WHATWG URL standard, "host parsing"): names as
 * lower-case A-labels (UTS 46, non-transitional; libidn2), IPv4 in any of its spellings as four decimal numbers, IPv6
 * compressed in brackets. Stricter than browsers where they would let a strange name pass; never more lenient.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_DESTINATIONS_DESTINATION_HOST_H
#define WAYMARK_SERVICES_LINKS_API_DESTINATIONS_DESTINATION_HOST_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"

#define DESTINATION_HOST_MAX 254 /* 253 and a dot at the end */
#define DESTINATION_HOST_INPUT_MAX 1024

struct destination_host {
	char text[DESTINATION_HOST_MAX + 1]; /* "example.com", "127.0.0.1", "[::1]" */
	bool is_address;
};

/*
 * text: what stands between "://" and the port, len bytes of valid UTF-8. ERR_INVALID: a browser would not take it, or
 * we do not; reason is a literal that says why.
 */
enum err destination_host_parse(const char *text, size_t len, struct destination_host *out,
                                const char **reason) MUST_CHECK;

/*
 * Whether they name the same host: a dot at the end of a name makes no difference, nor does what an IPv4 address is
 * dressed in (ipv6_host_is_ipv4).
 */
bool destination_host_equal(const struct destination_host *a, const struct destination_host *b);

#endif
