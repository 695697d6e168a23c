/*
 * PUBLIC_BASE_URL, the prefix of short links ("https://wm.example"), and what links may not use:
 * destinations at our own hosts or at blocked ones, and reserved slugs. Pure.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_DESTINATIONS_PUBLIC_BASE_H
#define WAYMARK_SERVICES_LINKS_API_DESTINATIONS_PUBLIC_BASE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/links/link.h"
#include "services/links-api/destinations/destination_host.h"

#define PUBLIC_BASE_URL_MAX (sizeof("https://:65535") + DESTINATION_HOST_MAX)

struct host_guard;
struct host_policy;
struct reserved_slugs;

struct public_base {
	/* Normal form without a trailing slash. */
	char url[PUBLIC_BASE_URL_MAX + 1];
	struct destination_host host;
	uint16_t port;
	/* Our other hosts, as a block list; borrowed; NULL = none. */
	const struct host_policy *aliases;
	/* Allowed destination hosts; borrowed; NULL = any. */
	struct host_guard *hosts;
	/* DESTINATION_SCHEMES; borrowed; "" from public_base_init. */
	const char *schemes;
	/* Of the normal form of a destination, up to LINK_URL_MAX. */
	size_t destination_bytes_max;
	/* Extra reserved slugs; borrowed; NULL = none. */
	const struct reserved_slugs *reserved;
	/* Of slugs that people choose; SLUG_LENGTH_MAX from public_base_init. */
	size_t slug_length_max;
	/* SLUG_CASE is exact. */
	bool is_slug_exact;
};

/*
 * ERR_INVALID: not an http or https URL, or one with a username, password, path, query or fragment.
 * reason is a string literal that says which.
 */
enum err public_base_init(struct public_base *base, const char *url,
                          const char **reason) MUST_CHECK;

/*
 * Parses our other hosts, separated by commas or white space, into a block list. ERR_INVALID: an
 * entry is not a host.
 */
enum err public_base_parse_aliases(const char *list, struct host_policy **out) MUST_CHECK;

/*
 * True if host and port are ours. A name is ours on every port. An address is ours only on our own
 * port, because other services may share it.
 */
bool public_base_owns(const struct public_base *base, const struct destination_host *host,
                      uint16_t port);

#define PUBLIC_BASE_SHORT_URL_SIZE (PUBLIC_BASE_URL_MAX + SLUG_SIZE + 1)

/* Writes "https://wm.example/abc". */
void public_base_short_url(const struct public_base *base, const char *slug,
                           char out[static PUBLIC_BASE_SHORT_URL_SIZE]);

/*
 * What follows the base in a short link as people copy or type it: "abc?x=1" of
 * "https://wm.example/abc?x=1" and of "wm.example/abc?x=1". NULL: the text is no such link.
 */
const char *public_base_skip(const struct public_base *base, const char *text);

#endif
