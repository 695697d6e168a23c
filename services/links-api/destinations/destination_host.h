/*
 * Hosts of destinations, in the form that browsers use (WHATWG URL standard, "host parsing"). Names
 * become lower-case A-labels, with the options of browsers ("domain to ASCII", UTS 46, ICU):
 * non-transitional, with the checks for joiners and for the direction of text (RFC 5893), without
 * those for hyphens. Emoji and symbols are valid. IPv4 addresses in any notation become four decimal
 * numbers, IPv6 addresses become compressed and bracketed. Sometimes stricter than browsers, never
 * more lenient. Pure.
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

/* The Unicode form of a host takes at most four bytes for each of its ASCII characters. */
#define DESTINATION_HOST_UNICODE_SIZE (4 * DESTINATION_HOST_MAX + 1)

/*
 * A name for people: "i❤.ws" for the len bytes "xn--i-7iq.ws". False: the host has no valid
 * A-label, or is too long.
 */
bool destination_host_to_unicode(const char *host, size_t len,
                                 char out[static DESTINATION_HOST_UNICODE_SIZE]);

#endif
