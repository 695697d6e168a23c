#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/client_ip.h"
#include "tests/support/test.h"

static struct client_ip ip_of(const char *text)
{
	struct client_ip ip = { 0 };
	assert_int_equal(client_ip_parse(text, strlen(text), &ip), OK);
	return ip;
}

static void check_parse(const char *text, const char *expected)
{
	struct client_ip ip;
	char out[CLIENT_IP_TEXT_SIZE];
	if (client_ip_parse(text, strlen(text), &ip) != OK)
		fail_msg("refused \"%s\"", text);
	assert_true(ip.known);
	client_ip_format(&ip, out);
	assert_string_equal(out, expected);
}

TEST_CASE(parses_addresses_in_every_form_that_proxies_write)
{
	check_parse("203.0.113.7", "203.0.113.7");
	check_parse("203.0.113.7:443", "203.0.113.7");
	check_parse("255.255.255.255:65535", "255.255.255.255");
	check_parse("2001:db8::1", "2001:db8::1");
	check_parse("2001:DB8:0:0:0:0:0:1", "2001:db8::1");
	check_parse("[2001:db8::1]", "2001:db8::1");
	check_parse("[2001:db8::1]:8080", "2001:db8::1");
	check_parse("::ffff:203.0.113.7", "203.0.113.7");
	check_parse("[::ffff:203.0.113.7]:1", "203.0.113.7");
	check_parse("fe80::1%eth0", "fe80::1");
	check_parse("[fe80::1%25eth0]:80", "fe80::1");
	check_parse("::", "::");
	check_parse("2001:db8:1111:2222:3333:4444:5555:6666",
	            "2001:db8:1111:2222:3333:4444:5555:6666");
}

TEST_CASE(rejects_everything_else)
{
	static const char *const texts[] = {
		"",
		" ",
		"unknown",
		"_hidden",
		"203.0.113",
		"203.0.113.256",
		"203.0.113.7.1",
		"203.0.113.07",
		"0x7f.1",
		"2130706433",
		"203.0.113.7:",
		"203.0.113.7:x",
		"203.0.113.7:123456",
		"203.0.113.7 ",
		" 203.0.113.7",
		"[203.0.113.7]",
		"[2001:db8::1",
		"2001:db8::1]",
		"[2001:db8::1]x",
		"[2001:db8::1]:",
		"[]",
		"[",
		"]",
		":",
		"::1::",
		"1:2:3:4:5:6:7",
		"1:2:3:4:5:6:7:8:9",
		"2001:db8::g",
		"%eth0",
		"fe80::1%",
		"203.0.113.7%eth0",
		"203.0.113.7/24",
		"\"203.0.113.7\"",
		"1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb",
	};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct client_ip ip;
		if (client_ip_parse(texts[i], strlen(texts[i]), &ip) != ERR_INVALID)
			fail_msg("accepted \"%s\"", texts[i]);
	}
	struct client_ip ip;
	assert_int_equal(client_ip_parse("1.2.3.4\0", 8, &ip), ERR_INVALID);
	assert_int_equal(client_ip_parse("1.2.3.45", 7, &ip), OK); /* only len bytes are read */
	assert_int_equal(ip.bytes[15], 4);
}

TEST_CASE(parses_ranges)
{
	struct client_ip_ranges ranges;
	assert_int_equal(client_ip_ranges_parse("", &ranges), OK);
	assert_int_equal(ranges.count, 0);
	assert_int_equal(client_ip_ranges_parse(" ,\t\n", &ranges), OK);
	assert_int_equal(ranges.count, 0);
	assert_int_equal(
		client_ip_ranges_parse("10.1.2.3/8, fd00::/8\n192.0.2.1 ,2001:db8::1", &ranges),
		OK);
	assert_int_equal(ranges.count, 4);
	static const struct {
		const char *ip;
		bool contained;
	} cases[] = {
		{ "10.0.0.0", true },       { "10.255.255.255", true }, { "11.0.0.0", false },
		{ "9.255.255.255", false }, { "192.0.2.1", true },      { "192.0.2.2", false },
		{ "fd00::1", true },        { "fdff:ffff::", true },    { "fe00::", false },
		{ "2001:db8::1", true },    { "2001:db8::2", false },   { "::ffff:10.0.0.1", true },
		{ "::10.0.0.1", false },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct client_ip ip = ip_of(cases[i].ip);
		if (client_ip_ranges_contain(&ranges, &ip) != cases[i].contained)
			fail_msg("%s", cases[i].ip);
	}
	struct client_ip unknown = { 0 };
	assert_int_equal(client_ip_ranges_parse("::/0", &ranges), OK);
	assert_false(client_ip_ranges_contain(&ranges, &unknown));
	assert_false(client_ip_ranges_contain(NULL, &unknown));
}

TEST_CASE(keeps_prefixes_that_end_within_a_byte)
{
	struct client_ip_ranges ranges;
	assert_int_equal(client_ip_ranges_parse("172.16.0.0/12 0.0.0.0/0", &ranges), OK);
	ranges.count = 1;
	struct client_ip in = ip_of("172.31.255.255"), out = ip_of("172.32.0.0"),
			 v6 = ip_of("2001:db8::1");
	assert_true(client_ip_ranges_contain(&ranges, &in));
	assert_false(client_ip_ranges_contain(&ranges, &out));
	ranges.count = 2;
	assert_true(client_ip_ranges_contain(&ranges, &out));
	assert_false(client_ip_ranges_contain(&ranges, &v6));
}

TEST_CASE(rejects_malformed_ranges)
{
	static const char *const texts[] = { "x",           "10.0.0.0/",   "10.0.0.0/33",
		                             "::/129",      "10.0.0.0/-1", "10.0.0.0/8/8",
		                             "10.0.0/8",    "[::1]/128",   "10.0.0.1:80",
		                             "10.0.0.0/ 8", "10.0.0.0/+8", "10.0.0.0/08x" };
	struct client_ip_ranges ranges = { .count = 7 };
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (client_ip_ranges_parse(texts[i], &ranges) != ERR_INVALID)
			fail_msg("accepted \"%s\"", texts[i]);
	char many[CLIENT_IP_RANGES_MAX * 16 + 32] = "";
	for (size_t i = 0; i < CLIENT_IP_RANGES_MAX; i++)
		memcpy(many + strlen(many), "10.0.0.1 ", 10);
	struct client_ip_ranges full;
	assert_int_equal(client_ip_ranges_parse(many, &full), OK);
	assert_int_equal(full.count, CLIENT_IP_RANGES_MAX);
	memcpy(many + strlen(many), "10.0.0.2", 9);
	assert_int_equal(client_ip_ranges_parse(many, &ranges), ERR_LIMIT);
	assert_int_equal(ranges.count, 7); /* written only on OK */
}

static void check_request(const char *peer_text, const char *forwarded_for, const char *expected)
{
	struct client_ip_ranges trusted;
	assert_int_equal(client_ip_ranges_parse("10.0.0.0/8 2001:db8:ffff::/48", &trusted), OK);
	struct client_ip peer = ip_of(peer_text);
	struct client_ip ip = client_ip_of_request(&peer, forwarded_for, &trusted);
	char out[CLIENT_IP_TEXT_SIZE];
	client_ip_format(&ip, out);
	if (strcmp(out, expected) != 0)
		fail_msg("peer %s, \"%s\": %s instead of %s", peer_text,
		         forwarded_for == NULL ? "(none)" : forwarded_for, out, expected);
	assert_int_equal(ip.known, expected[0] != '\0');
}

TEST_CASE(trusts_only_configured_proxies)
{
	check_request("203.0.113.1", NULL, "203.0.113.1");
	check_request("203.0.113.1", "198.51.100.1", "203.0.113.1");
	check_request("203.0.113.1", "10.0.0.1", "203.0.113.1");
	check_request("10.0.0.1", "198.51.100.1", "198.51.100.1");
	check_request("2001:db8:ffff::1", "198.51.100.1", "198.51.100.1");
	check_request("::ffff:10.0.0.1", "2001:db8::7", "2001:db8::7");
}

TEST_CASE(ignores_entries_that_the_client_sent)
{
	/*
	 * each proxy appends its peer, so the first untrusted peer may have written every entry
	 * left of it
	 */
	check_request("10.0.0.1", "192.0.2.9, 198.51.100.1", "198.51.100.1");
	check_request("10.0.0.1", "10.0.0.9, 198.51.100.1", "198.51.100.1");
	check_request("10.0.0.1", "127.0.0.1, 198.51.100.1, 10.0.0.2, 10.0.0.3", "198.51.100.1");
	check_request("10.0.0.1", "192.0.2.9,198.51.100.1:4711 ,\t[2001:db8:ffff::2]:80",
	              "198.51.100.1");
}

TEST_CASE(stops_at_a_malformed_entry)
{
	check_request("10.0.0.1", "198.51.100.1, unknown", "");
	check_request("10.0.0.1", "198.51.100.1, unknown, 10.0.0.2", "");
	check_request("10.0.0.1", "198.51.100.1, , 10.0.0.2", "");
	check_request("10.0.0.1", "198.51.100.1,", "");
	check_request("10.0.0.1", "unknown, 198.51.100.1", "198.51.100.1");
	check_request("10.0.0.1", "", "");
	check_request("10.0.0.1", ",", "");
	check_request("10.0.0.1", NULL, "");
}

TEST_CASE(uses_the_first_hop_when_all_are_trusted)
{
	check_request("10.0.0.1", "10.0.0.2", "10.0.0.2");
	check_request("10.0.0.1", "10.0.0.4, 10.0.0.3, 10.0.0.2", "10.0.0.4");
}

TEST_CASE(rejects_too_many_hops)
{
	char header[1024] = "198.51.100.1";
	for (unsigned i = 1; i < CLIENT_IP_HOPS_MAX; i++)
		memcpy(header + strlen(header), ",10.0.0.2", 10);
	check_request("10.0.0.1", header, "198.51.100.1");
	memcpy(header + strlen(header), ",10.0.0.2", 10);
	check_request("10.0.0.1", header, "");
}

static void check_network(const char *text, const char *expected)
{
	struct client_ip ip = ip_of(text);
	char out[CLIENT_IP_NETWORK_SIZE];
	client_ip_network(&ip, out);
	assert_string_equal(out, expected);
}

TEST_CASE(formats_the_network_of_an_address)
{
	check_network("203.0.113.7", "203.0.113.0/24");
	check_network("255.255.255.255", "255.255.255.0/24");
	check_network("2001:db8:1234:5678:9abc:def0:1234:5678", "2001:db8:1234::/48");
	check_network("::1", "::/48");
	check_network("ffff:ffff:ffff:ffff::", "ffff:ffff:ffff::/48");
	struct client_ip unknown = { 0 };
	char out[CLIENT_IP_NETWORK_SIZE], text[CLIENT_IP_TEXT_SIZE];
	client_ip_network(&unknown, out);
	client_ip_format(&unknown, text);
	assert_string_equal(out, "");
	assert_string_equal(text, "");
}

TEST_MAIN()
