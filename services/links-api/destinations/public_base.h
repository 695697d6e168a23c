/*
 * Pure. PUBLIC_BASE_URL: what stands before the slug in a short link ("https://wm.example", "https://wm.example/r"),
 * and what it is not to be used for: destinations at
 * its own host or at those that host_guard.h forbids, and slugs that are reserved.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_DESTINATIONS_PUBLIC_BASE_H
#define WAYMARK_SERVICES_LINKS_API_DESTINATIONS_PUBLIC_BASE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/links/link.h"
#include "services/links-api/destinations/destination_host.h"

#define PUBLIC_BASE_URL_MAX 1024

struct host_guard;
struct host_policy;
struct slug_reserve;

struct public_base {
	char url[PUBLIC_BASE_URL_MAX + 1]; /* normal form, without a slash at the end */
	struct destination_host host;
	uint16_t port;
	const struct host_policy *aliases; /* other names of the host: what it blocks is ours; borrowed; NULL = none */
	struct host_guard *hosts;          /* which others destinations may have; borrowed; NULL = any */
	const struct slug_reserve *reserved; /* slugs that nobody may choose; borrowed; NULL = those of slug.h alone */
};

/*
 * ERR_INVALID: no http or https URL, or one with user info, query or fragment, or longer than PUBLIC_BASE_URL_MAX;
 * reason is a literal that says which.
 */
enum err public_base_init(struct public_base *base, const char *url, const char **reason) MUST_CHECK;

/* Other hosts of ours, between commas or white space, as a policy that blocks them. ERR_INVALID: one of them is none. */
enum err public_base_read_aliases(const char *list, struct host_policy **out) MUST_CHECK;

/*
 * Whether a host and port are ours. A name is ours on every port; an address only on our own port, because other
 * services may live on it, too.
 */
bool public_base_owns(const struct public_base *base, const struct destination_host *host, uint16_t port);

#define PUBLIC_BASE_SHORT_URL_SIZE (PUBLIC_BASE_URL_MAX + SLUG_SIZE + 1)

/* "https://wm.example/abc". */
void public_base_short_url(const struct public_base *base, const char *slug,
                           char out[static PUBLIC_BASE_SHORT_URL_SIZE]);

#endif
