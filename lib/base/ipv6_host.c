#include "lib/base/ipv6_host.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static bool parse(const char *text, size_t len, struct in6_addr *out)
{
	char inside[INET6_ADDRSTRLEN];
	if (len < 2 || text[0] != '[' || text[len - 1] != ']' || len - 2 >= sizeof(inside))
		return false;
	memcpy(inside, text + 1, len - 2);
	inside[len - 2] = '\0';
	return strlen(inside) == len - 2 && inet_pton(AF_INET6, inside, out) == 1;
}

/* The first of the longest runs of at least two zero pieces. */
static void find_zeroes(const uint16_t piece[static 8], size_t *begin, size_t *count)
{
	*begin = 8;
	*count = 1;
	for (size_t i = 0; i < 8; i++) {
		size_t run = 0;
		while (i + run < 8 && piece[i + run] == 0)
			run++;
		if (run > *count) {
			*begin = i;
			*count = run;
		}
	}
}

/* Not inet_ntop: it writes some addresses with dots, which browsers never do. */
static void format(const struct in6_addr *address, char out[static IPV6_HOST_SIZE])
{
	uint16_t piece[8];
	for (size_t i = 0; i < 8; i++)
		piece[i] = (uint16_t)(address->s6_addr[2 * i] << 8 | address->s6_addr[2 * i + 1]);
	size_t begin;
	size_t count;
	find_zeroes(piece, &begin, &count);

	int at = snprintf(out, IPV6_HOST_SIZE, "[");
	for (size_t i = 0; i < 8; i++) {
		size_t room = (size_t)(IPV6_HOST_SIZE - at);
		if (i == begin) {
			at += snprintf(out + at, room, i == 0 ? "::" : ":");
			i += count - 1;
			continue;
		}
		at += snprintf(out + at, room, i == 7 ? "%x" : "%x:", piece[i]);
	}
	snprintf(out + at, (size_t)(IPV6_HOST_SIZE - at), "]");
}

bool ipv6_host_normalise(const char *text, size_t len, char out[static IPV6_HOST_SIZE])
{
	struct in6_addr address;
	if (!parse(text, len, &address))
		return false;
	format(&address, out);
	return true;
}

bool ipv6_host_is_ipv4(const char *text, size_t len, char out[static IPV6_HOST_IPV4_SIZE])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	static const uint8_t translated[12] = { 0x00, 0x64, 0xff, 0x9b };
	struct in6_addr address;
	if (!parse(text, len, &address))
		return false;
	const uint8_t *byte = address.s6_addr;
	if (memcmp(byte, mapped, sizeof(mapped)) != 0 &&
	    memcmp(byte, translated, sizeof(translated)) != 0)
		return false;
	snprintf(out, IPV6_HOST_IPV4_SIZE, "%u.%u.%u.%u", byte[12], byte[13], byte[14], byte[15]);
	return true;
}
