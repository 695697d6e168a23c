/*
 * Pure. Addresses of clients: parsing, networks, and the address that a request came from behind
 * proxies. IPv4 is stored as v4-mapped IPv6, so every address has one form.
 */
#ifndef WAYMARK_LIB_BASE_CLIENT_IP_H
#define WAYMARK_LIB_BASE_CLIENT_IP_H

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
	/* False: all zeroes, no address. */
	bool known;
};

struct client_ip_range {
	uint8_t bytes[16];
	/* 0 to 128. */
	uint8_t prefix;
};

struct client_ip_ranges {
	size_t count;
	struct client_ip_range range[CLIENT_IP_RANGES_MAX];
};

/*
 * One IPv4 or IPv6 address. As in X-Forwarded-For, it may have brackets, a port or a zone.
 * ERR_INVALID: anything else.
 */
enum err client_ip_parse(const char *text, size_t len, struct client_ip *out) MUST_CHECK;

/*
 * A list such as "10.0.0.0/8, fd00::/8", separated by commas or white space. A bare address is a
 * /32 or /128; "" is an empty list. ERR_INVALID: not an address or prefix. ERR_LIMIT: more than
 * CLIENT_IP_RANGES_MAX.
 */
enum err client_ip_ranges_parse(const char *text, struct client_ip_ranges *out) MUST_CHECK;
bool client_ip_ranges_contain(const struct client_ip_ranges *ranges, const struct client_ip *ip);

/*
 * The client's address. It is the peer, unless the peer is a trusted proxy: then it is the
 * rightmost entry of forwarded_for that is not trusted, or the leftmost entry if all are trusted. A
 * malformed entry ends the search, because anybody could have written what is left of it. known is
 * false if a trusted proxy sent no usable header.
 *
 * forwarded_for is the value of X-Forwarded-For, or of a header with one address such as X-Real-IP;
 * NULL: there is none. It must hold all lines of the header (http_exchange_joined_header), because
 * some proxies add a line of their own.
 */
struct client_ip client_ip_of_request(const struct client_ip *peer, const char *forwarded_for,
                                      const struct client_ip_ranges *trusted);

/* "203.0.113.7", "2001:db8::1"; "" if the address is unknown. */
void client_ip_format(const struct client_ip *ip, char out[static CLIENT_IP_TEXT_SIZE]);

/* The /24 (IPv4) or /48 (IPv6) of the address, "203.0.113.0/24"; "" if the address is unknown. */
void client_ip_network(const struct client_ip *ip, char out[static CLIENT_IP_NETWORK_SIZE]);

#endif
