/*
 * Safe from any thread between start and end. Resolves a host with c-ares, within a time limit, and
 * accepts it only if all of its addresses are global (lib/base/global_address.h).
 *
 * It asks the DNS alone: no /etc/hosts and no search domains, so that short names of the operator's
 * own network do not resolve. A literal address needs no lookup.
 */
#ifndef WAYMARK_LIB_FETCH_GLOBAL_RESOLVER_H
#define WAYMARK_LIB_FETCH_GLOBAL_RESOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "lib/base/err.h"

/* Further addresses are checked, but not returned. */
#define GLOBAL_RESOLVER_ADDRESSES_MAX 8

struct global_resolver_addresses {
	size_t count;
	/* Without port. */
	struct sockaddr_storage addresses[GLOBAL_RESOLVER_ADDRESSES_MAX];
};

/* By one thread; they may be nested. */
void global_resolver_start(void);
void global_resolver_end(void);

/*
 * servers: "8.8.8.8,[2001:4860:4860::8888]:53"; "" = those of /etc/resolv.conf. ERR_INVALID: at
 * least one A or AAAA address of the host is not global. ERR_NOT_FOUND: the host has no address, or
 * none was found in time. ERR_INTERNAL: c-ares rejects servers.
 */
enum err global_resolver_lookup(const char *servers, const char *host, int64_t timeout_ms,
                                struct global_resolver_addresses *out) MUST_CHECK;

/* True for a literal address that is not global. Needs no lookup. */
bool global_resolver_is_private_literal(const char *host);

/* Whether server is one entry of servers, as above. Starts and ends by itself. */
bool global_resolver_server_is_valid(const char *server);

#endif
