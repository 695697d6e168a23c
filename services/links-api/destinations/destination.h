/*
 * Destinations of links: absolute http and https URLs in one normal form, which browsers (WHATWG
 * URL standard) and RFC 3986 parsers (libcurl) read alike. Pure.
 *
 * The normal form has a lower-case scheme, a host as in destination_host.h, no default port, no dot
 * segments, no spaces and control bytes at its ends, and a path of at least "/". Everything that
 * browsers escape is escaped, such as spaces, and what was escaped stays as it was given: signed URLs
 * would break otherwise. Normalizing a normal form changes nothing.
 *
 * Rejected:
 * - backslashes, which browsers read as slashes
 * - tabs and line breaks inside, which browsers drop: they may stand between two addresses
 * - a missing "://", which browsers repair
 * - a username or password, an empty host, a port outside 1 to 65535
 * - a result longer than LINK_URL_MAX bytes
 *
 * public_base checks whether the host is ours.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_DESTINATIONS_DESTINATION_H
#define WAYMARK_SERVICES_LINKS_API_DESTINATIONS_DESTINATION_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/links/link.h"
#include "services/links-api/destinations/destination_host.h"

/* A parsed normal form. The offsets point into url. */
struct destination {
	char url[LINK_URL_SIZE];
	/* Start of "/…". */
	size_t path;
	/* Start of "?…", or where it would be. */
	size_t query;
	/* Start of "#…", or the end. */
	size_t fragment;
	struct destination_host host;
	/* Explicit or default port. */
	uint16_t port;
};

/*
 * text: len bytes. ERR_INVALID: reason is a string literal, a phrase that follows the field's name
 * ("has no host").
 */
enum err destination_parse(const char *text, size_t len, struct destination *out,
                           const char **reason) MUST_CHECK;

/* The name of a reason for programs: "url-no-host" for "has no host". */
const char *destination_code(const char *reason);

#define DESTINATION_SHOWN_SIZE (LINK_URL_SIZE + DESTINATION_HOST_UNICODE_SIZE)

/*
 * A normal form as people see it, for searches: the host in Unicode, and escapes as the text that
 * they stand for: "https://bücher.example/a b" for "https://xn--bcher-kva.example/a%20b". Escapes of
 * control characters and of bytes that are no UTF-8 stay. "" if that is the URL itself.
 */
void destination_show(const char *url, char out[static DESTINATION_SHOWN_SIZE]);

#endif
