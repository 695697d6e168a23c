/*
 * Pure. Addresses of visitors: parsing, networks, and which address a request really came from when proxies stand in
 * between. IPv4 is kept as v4-mapped IPv6, so that there is one form.
 */
#ifndef WAYMARK_LIB_NET_CLIENT_IP_H
#define WAYMARK_LIB_NET_CLIENT_IP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

#define CLIENT_IP_TEXT_SIZE 46
#define CLIENT_IP_NETWORK_SIZE 50
#define CLIENT_IP_RANGES_MAX 64
#define CLIENT_IP_HOPS_MAX 32

struct client_ip {
	uint8_t bytes[16];
	bool known; /* false: all zeroes, no address */
};

struct client_ip_range {
	uint8_t bytes[16];
	uint8_t prefix; /* 0 to 128 */
};

struct client_ip_ranges {
	size_t count;
	struct client_ip_range range[CLIENT_IP_RANGES_MAX];
};

/* One IPv4 or IPv6 address, with nothing around it but, as X-Forwarded-For has it, "[…]", a port or a zone. */
enum err client_ip_parse(const char *text, size_t len, struct client_ip *out) MUST_CHECK;

/*
 * "10.0.0.0/8, fd00::/8": commas or white space; a bare address is a /32 or /128; "" is no range. ERR_LIMIT: too
 * many.
 */
enum err client_ip_ranges_parse(const char *text, struct client_ip_ranges *out) MUST_CHECK;
bool client_ip_ranges_contain(const struct client_ip_ranges *ranges, const struct client_ip *ip);

/*
 * The visitor's address: the peer, unless the peer is a trusted proxy; then X-Forwarded-For is read from the right
 * over trusted entries to the first that is not trusted. A malformed entry ends the search: what stands left of it is
 * anybody's claim. known is false if a trusted proxy sent no usable header. If every entry is trusted, the request
 * began at the leftmost. forwarded_for may be NULL; all lines of the header are needed (http_exchange_joined_header),
 * because some proxies add one of their own.
 */
struct client_ip client_ip_of_request(const struct client_ip *peer, const char *forwarded_for,
                                      const struct client_ip_ranges *trusted);

/* "203.0.113.7", "2001:db8::1"; "" if not known. */
void client_ip_format(const struct client_ip *ip, char out[static CLIENT_IP_TEXT_SIZE]);

/* The /24 or /48 around it, "203.0.113.0/24"; "" if not known. */
void client_ip_network(const struct client_ip *ip, char out[static CLIENT_IP_NETWORK_SIZE]);

#endif
