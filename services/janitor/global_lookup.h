/*
 * Safe from any thread. The addresses of a host on the global Internet, looked up with c-ares within a time. Only the
 * DNS is asked: no /etc/hosts, no search domains, so that an operator's own short names mean nothing here. A literal is
 * its own answer.
 */
#ifndef WAYMARK_SERVICES_JANITOR_GLOBAL_LOOKUP_H
#define WAYMARK_SERVICES_JANITOR_GLOBAL_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "lib/base/err.h"

/* More are judged, but not remembered. */
#define GLOBAL_LOOKUP_MAX 8

struct global_lookup {
	size_t count;
	struct sockaddr_storage addresses[GLOBAL_LOOKUP_MAX]; /* without port */
};

/*
 * servers: "8.8.8.8,[2001:4860:4860::8888]:53"; "" = those of /etc/resolv.conf. ERR_INVALID: one of its addresses, A or
 * AAAA, is not global (lib/net/global_address.h), whatever the others are. ERR_NOT_FOUND: it has no address, or none in
 * time.
 * ERR_INTERNAL: c-ares takes no such servers.
 */
enum err global_lookup_host(const char *servers, const char *host, int64_t timeout_ms,
                            struct global_lookup *out) MUST_CHECK;

/* Whether it is a literal that is not global: nobody need be asked to know. */
bool global_lookup_refuses(const char *host);

/* Whether c-ares can read the list. For checks of configurations. */
bool global_lookup_servers_are_valid(const char *servers);

#endif
