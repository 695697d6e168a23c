/*
 * Untrusted X-Forwarded-For headers. No input may crash the parser. A parsed address must format
 * and parse back to the same address. A client that is not behind a trusted proxy cannot choose its
 * address.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/client_ip.h"
#include "lib/base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static bool addresses_equal(const struct client_ip *a, const struct client_ip *b)
{
	return a->known == b->known && memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

static void require_round_trip(const struct client_ip *ip)
{
	char text[CLIENT_IP_TEXT_SIZE], network[CLIENT_IP_NETWORK_SIZE];
	struct client_ip again = { 0 };
	client_ip_format(ip, text);
	client_ip_network(ip, network);
	require(client_ip_parse(text, strlen(text), &again) == OK && addresses_equal(ip, &again));
	struct client_ip_ranges range;
	require(client_ip_ranges_parse(network, &range) == OK &&
	        client_ip_ranges_contain(&range, ip));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *header = mem_text_n((const char *)data, size);
	struct client_ip_ranges trusted;
	struct client_ip proxy, stranger, ip;
	require(client_ip_ranges_parse("10.0.0.0/8 2001:db8:ffff::/48", &trusted) == OK);
	require(client_ip_parse("10.0.0.1", 8, &proxy) == OK);
	require(client_ip_parse("203.0.113.1", 11, &stranger) == OK);

	ip = client_ip_of_request(&proxy, header, &trusted);
	if (ip.known)
		require_round_trip(&ip);
	ip = client_ip_of_request(&stranger, header, &trusted);
	require(addresses_equal(&ip, &stranger));

	/* whatever the visitor claims, our proxy wrote the last entry */
	size_t len = strlen(header);
	size_t size_max = len + 32;
	char *claimed = mem_zero(size_max);
	snprintf(claimed, size_max, "%s, 198.51.100.9", header);
	ip = client_ip_of_request(&proxy, claimed, &trusted);
	require(ip.known && ip.bytes[12] == 198 && ip.bytes[15] == 9);

	if (client_ip_parse(header, len, &ip) == OK)
		require_round_trip(&ip);
	struct client_ip_ranges ranges;
	if (client_ip_ranges_parse(header, &ranges) == OK)
		require(ranges.count <= CLIENT_IP_RANGES_MAX);
	free(claimed);
	free(header);
	return 0;
}
