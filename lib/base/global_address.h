/*
 * Pure. Whether an address belongs to a host of the public Internet. It protects against
 * server-side request forgery: a program that fetches URLs of users must never reach its own
 * machine, network or cloud. Sources: IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC
 * 6890, as of 2025), RFC 5771 and 4291 (multicast), RFC 4291 and 3879 (outside 2000::/3).
 *
 * It rejects more than the registries call "not globally reachable", namely every block without web
 * servers:
 *   - IPv6 outside 2000::/3: mapped and compatible IPv4, NAT64, ULA, link-local, multicast,
 *     discard, SRv6;
 *   - IPv6 with an embedded IPv4 address: 6to4, Teredo, ISATAP;
 *   - AS112 sinks, and 168.63.129.16, a service address inside Azure.
 */
#ifndef WAYMARK_LIB_BASE_GLOBAL_ADDRESS_H
#define WAYMARK_LIB_BASE_GLOBAL_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

/* False also for other address families and for addresses with a scope. */
bool global_address_is(const struct sockaddr *address);

#endif
