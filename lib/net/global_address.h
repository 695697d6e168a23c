/*
 * Pure. Whether an address belongs to a host of the global Internet, so that a program that is told by strangers whom
 * to ask never asks its own machine, network or cloud. Sources: IANA IPv4 and IPv6 Special-Purpose Address Registries
 * (RFC 6890, as of 2025), RFC 5771 and 4291 (multicast), RFC 4291 and 3879 (what is not 2000::/3).
 *
 * Refused is more than the registries call "not globally reachable": whatever no web server lives on. So that is all
 * but 2000::/3 in IPv6 (mapped and compatible IPv4, NAT64, ULA, link-local, multicast, discard, SRv6), IPv6 that
 * carries an IPv4 address inside (6to4, Teredo, ISATAP), AS112 sinks, and 168.63.129.16, where Azure answers its own
 * machines.
 */
#ifndef WAYMARK_LIB_NET_GLOBAL_ADDRESS_H
#define WAYMARK_LIB_NET_GLOBAL_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

/* False for other families, and for addresses that name an interface (a scope). */
bool global_address_is(const struct sockaddr *address);

#endif
