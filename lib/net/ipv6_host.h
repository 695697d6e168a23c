/*
 * Pure. IPv6 addresses as they stand in URLs, in brackets: one spelling for each, that of browsers (WHATWG URL standard,
 * "IPv6 serializer").
 */
#ifndef WAYMARK_LIB_NET_IPV6_HOST_H
#define WAYMARK_LIB_NET_IPV6_HOST_H

#include <stdbool.h>
#include <stddef.h>

#define IPV6_HOST_SIZE 42 /* brackets, eight pieces, seven colons, NUL */

/* text: "[2001:DB8:0::7]", len bytes. *out: "[2001:db8::7]". False: it is no such thing; out is as it was. */
bool ipv6_host_normalise(const char *text, size_t len, char out[static IPV6_HOST_SIZE]);

#define IPV6_HOST_IPV4_SIZE 16

/*
 * Whether text, as above, is an IPv4 address in other clothes, which leads to the same host: mapped (::ffff:0:0/96, RFC
 * 4291) or translated (64:ff9b::/96, RFC 6052). *out: "203.0.113.7". False: out is as it was.
 */
bool ipv6_host_is_ipv4(const char *text, size_t len, char out[static IPV6_HOST_IPV4_SIZE]);

#endif
