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

#endif
