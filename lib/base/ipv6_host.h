/*
 * Pure. IPv6 hosts of URLs, in brackets. Each address has one canonical spelling, that of browsers
 * (WHATWG URL standard, "IPv6 serializer").
 */
#ifndef WAYMARK_LIB_BASE_IPV6_HOST_H
#define WAYMARK_LIB_BASE_IPV6_HOST_H

#include <stdbool.h>
#include <stddef.h>

#define IPV6_HOST_SIZE 42 /* brackets, eight pieces, seven colons, NUL */

/* text: len bytes such as "[2001:DB8:0::7]". False: not an IPv6 host; out is unchanged. */
bool ipv6_host_normalise(const char *text, size_t len, char out[static IPV6_HOST_SIZE]);

#define IPV6_HOST_IPV4_SIZE 16

/*
 * Whether text, as above, contains an IPv4 address that leads to the same host: mapped
 * (::ffff:0:0/96, RFC 4291) or translated (64:ff9b::/96, RFC 6052). out: "203.0.113.7". False: out
 * is unchanged.
 */
bool ipv6_host_is_ipv4(const char *text, size_t len, char out[static IPV6_HOST_IPV4_SIZE]);

#endif
