#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/entropy.h"
#include "lib/http/http_connection_limit.h"
#include "tests/support/test.h"

static struct client_ip ip_of(const char *text)
{
	struct client_ip ip = { 0 };
	assert_int_equal(client_ip_parse(text, strlen(text), &ip), OK);
	return ip;
}

static bool is_allowed(struct http_connection_limit *limit, const struct client_ip *peer)
{
	return http_connection_limit_decide(limit, peer) == HTTP_CONNECTION_ALLOWED;
}

TEST_CASE(counts_connections_overall_and_per_address)
{
	struct http_connection_limit *limit = http_connection_limit_new(4, 2, NULL);
	struct client_ip a = ip_of("203.0.113.1"), b = ip_of("203.0.113.2"),
			 c = ip_of("203.0.113.3");
	http_connection_limit_opened(limit, &a);
	assert_true(is_allowed(limit, &a));
	http_connection_limit_opened(limit, &a);
	assert_false(is_allowed(limit, &a));
	assert_true(is_allowed(limit, &b));
	http_connection_limit_opened(limit, &b);
	http_connection_limit_opened(limit, &b);
	assert_int_equal(http_connection_limit_decide(limit, &c), HTTP_CONNECTION_NEEDS_ROOM);
	assert_int_equal(http_connection_limit_decide(limit, &b), HTTP_CONNECTION_REFUSED);
	http_connection_limit_closed(limit, &a);
	assert_true(is_allowed(limit, &c));
	assert_true(is_allowed(limit, &a));
	assert_false(is_allowed(limit, &b));
	http_connection_limit_free(limit);
}

/* Evicted connections are counted until the library has closed them. */
TEST_CASE(refuses_connections_while_too_many_are_being_evicted)
{
	struct http_connection_limit *limit = http_connection_limit_new(1, 0, NULL);
	struct client_ip ip = ip_of("203.0.113.1");
	unsigned above = 0;
	http_connection_limit_opened(limit, &ip);
	while (http_connection_limit_decide(limit, &ip) == HTTP_CONNECTION_NEEDS_ROOM &&
	       above < 1000) {
		http_connection_limit_opened(limit, &ip);
		above++;
	}
	assert_in_range(above, 1, 999);
	assert_int_equal(http_connection_limit_decide(limit, &ip), HTTP_CONNECTION_REFUSED);
	http_connection_limit_closed(limit, &ip);
	assert_int_equal(http_connection_limit_decide(limit, &ip), HTTP_CONNECTION_NEEDS_ROOM);
	http_connection_limit_free(limit);
}

TEST_CASE(counts_a_whole_ipv6_network_as_one_address)
{
	struct http_connection_limit *limit = http_connection_limit_new(10, 1, NULL);
	struct client_ip a = ip_of("2001:db8::1"), neighbour = ip_of("2001:db8::ffff:1"),
			 other = ip_of("2001:db8:0:1::1");
	http_connection_limit_opened(limit, &a);
	assert_false(is_allowed(limit, &neighbour));
	assert_true(is_allowed(limit, &other));
	http_connection_limit_closed(limit, &neighbour);
	assert_true(is_allowed(limit, &a));
	http_connection_limit_free(limit);
}

TEST_CASE(does_not_limit_trusted_or_unknown_addresses)
{
	struct client_ip_ranges trusted;
	assert_int_equal(client_ip_ranges_parse("10.0.0.0/8", &trusted), OK);
	struct http_connection_limit *limit = http_connection_limit_new(10, 1, &trusted);
	struct client_ip proxy = ip_of("10.1.1.1"), unknown = { 0 };
	for (unsigned i = 0; i < 4; i++) {
		http_connection_limit_opened(limit, &proxy);
		http_connection_limit_opened(limit, &unknown);
	}
	assert_true(is_allowed(limit, &proxy));
	assert_true(is_allowed(limit, &unknown));
	http_connection_limit_free(limit);
}

/* Removal moves entries. Compares the table with a plain array after random operations. */
TEST_CASE(agrees_with_a_simple_model)
{
	enum { ADDRESSES = 300, CONNECTIONS = 400, PER_IP = 3 };
	struct http_connection_limit *limit = http_connection_limit_new(CONNECTIONS, PER_IP, NULL);
	unsigned counts[ADDRESSES] = { 0 };
	unsigned total = 0;
	for (unsigned step = 0; step < 200000; step++) {
		unsigned i = entropy_below(ADDRESSES);
		struct client_ip ip = { .known = true,
			                .bytes = { [10] = 0xff,
			                           [11] = 0xff,
			                           [14] = (uint8_t)(i >> 8),
			                           [15] = (uint8_t)i } };
		bool allowed = total < CONNECTIONS && counts[i] < PER_IP;
		assert_int_equal(is_allowed(limit, &ip), allowed);
		if (allowed && entropy_below(100) < 55) {
			http_connection_limit_opened(limit, &ip);
			counts[i]++;
			total++;
		} else if (counts[i] > 0) {
			http_connection_limit_closed(limit, &ip);
			counts[i]--;
			total--;
		}
	}
	http_connection_limit_free(limit);
}

TEST_MAIN()
