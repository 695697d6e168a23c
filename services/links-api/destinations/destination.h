/*
 * Pure. Where links may lead: absolute http and https URLs, in one normal form that browsers (WHATWG) and RFC 3986
 * parsers (libcurl) read alike. Normal form: lower-case scheme, host as destination_host.h says, no default port, no
 * dot segments, a path of at least "/", escapes in upper case, no escaped unreserved characters, everything that
 * browsers escape escaped. A normal form is its own normal form.
 *
 * Refused are control bytes, white space, backslashes (browsers read them as slashes), a missing "://" (browsers repair
 * it), user info, an empty host, a port that is no number from 1 to 65535, a "%" without two hexadecimal digits, and
 * whatever becomes longer than LINK_URL_MAX bytes. Whether the host is our own is public_base's question.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_DESTINATIONS_DESTINATION_H
#define WAYMARK_SERVICES_LINKS_API_DESTINATIONS_DESTINATION_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/links/link.h"
#include "services/links-api/destinations/destination_host.h"

/* A normal form, taken apart. Offsets into url. */
struct destination {
	char url[LINK_URL_SIZE];
	size_t path;     /* of "/…" */
	size_t query;    /* of "?…", or of the fragment or end */
	size_t fragment; /* of "#…", or of the end */
	struct destination_host host;
	uint16_t port; /* the scheme's default if none is given */
};

/*
 * text: len bytes of valid UTF-8. ERR_INVALID: reason is a literal, a half sentence for the caller ("has no host").
 */
enum err destination_parse(const char *text, size_t len, struct destination *out, const char **reason) MUST_CHECK;

#endif
