#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/entropy.h"
#include "lib/base/mem.h"
#include "lib/http/http_internal.h"
#include "tests/support/test.h"

static struct client_ip ip_of(const char *text)
{
	struct client_ip ip = { 0 };
	assert_int_equal(client_ip_parse(text, strlen(text), &ip), OK);
	return ip;
}

static struct http_shared *shared_new(size_t connections, size_t per_ip,
                                      const struct client_ip_ranges *trusted)
{
	struct http_shared *shared = mem_zero(sizeof(*shared));
	shared->config.connections = connections;
	shared->config.connections_per_ip = per_ip;
	shared->config.trusted = trusted;
	http_limit_init(shared);
	return shared;
}

static void free_shared(struct http_shared *shared)
{
	http_limit_clear(shared);
	free(shared);
}

static bool is_allowed(struct http_shared *shared, const struct client_ip *peer)
{
	return http_limit_decide(shared, peer) == HTTP_LIMIT_ALLOWED;
}

TEST_CASE(counts_connections_overall_and_per_address)
{
	struct http_shared *shared = shared_new(4, 2, NULL);
	struct client_ip a = ip_of("203.0.113.1"), b = ip_of("203.0.113.2"),
			 c = ip_of("203.0.113.3");
	http_limit_count(shared, &a, 1);
	assert_true(is_allowed(shared, &a));
	http_limit_count(shared, &a, 1);
	assert_false(is_allowed(shared, &a));
	assert_true(is_allowed(shared, &b));
	http_limit_count(shared, &b, 1);
	http_limit_count(shared, &b, 1);
	assert_int_equal(http_limit_decide(shared, &c), HTTP_LIMIT_NEEDS_ROOM);
	assert_int_equal(http_limit_decide(shared, &b), HTTP_LIMIT_REFUSED);
	http_limit_count(shared, &a, -1);
	assert_true(is_allowed(shared, &c));
	assert_true(is_allowed(shared, &a));
	assert_false(is_allowed(shared, &b));
	free_shared(shared);
}

/* Evicted connections are counted until the library has closed them. */
TEST_CASE(refuses_connections_while_too_many_are_being_evicted)
{
	struct http_shared *shared = shared_new(1, 0, NULL);
	struct client_ip ip = ip_of("203.0.113.1");
	unsigned above = 0;
	http_limit_count(shared, &ip, 1);
	while (http_limit_decide(shared, &ip) == HTTP_LIMIT_NEEDS_ROOM && above < 1000) {
		http_limit_count(shared, &ip, 1);
		above++;
	}
	assert_in_range(above, 1, 999);
	assert_int_equal(http_limit_decide(shared, &ip), HTTP_LIMIT_REFUSED);
	http_limit_count(shared, &ip, -1);
	assert_int_equal(http_limit_decide(shared, &ip), HTTP_LIMIT_NEEDS_ROOM);
	free_shared(shared);
}

TEST_CASE(counts_a_whole_ipv6_network_as_one_address)
{
	struct http_shared *shared = shared_new(10, 1, NULL);
	struct client_ip a = ip_of("2001:db8::1"), neighbour = ip_of("2001:db8::ffff:1"),
			 other = ip_of("2001:db8:0:1::1");
	http_limit_count(shared, &a, 1);
	assert_false(is_allowed(shared, &neighbour));
	assert_true(is_allowed(shared, &other));
	http_limit_count(shared, &neighbour, -1);
	assert_true(is_allowed(shared, &a));
	free_shared(shared);
}

TEST_CASE(does_not_limit_trusted_or_unknown_addresses)
{
	struct client_ip_ranges trusted;
	assert_int_equal(client_ip_ranges_parse("10.0.0.0/8", &trusted), OK);
	struct http_shared *shared = shared_new(10, 1, &trusted);
	struct client_ip proxy = ip_of("10.1.1.1"), unknown = { 0 };
	for (unsigned i = 0; i < 4; i++) {
		http_limit_count(shared, &proxy, 1);
		http_limit_count(shared, &unknown, 1);
	}
	assert_true(is_allowed(shared, &proxy));
	assert_true(is_allowed(shared, &unknown));
	free_shared(shared);
}

/* Removal moves entries. Compares the table with a plain array after random operations. */
TEST_CASE(agrees_with_a_simple_model)
{
	enum { ADDRESSES = 300, CONNECTIONS = 400, PER_IP = 3 };
	struct http_shared *shared = shared_new(CONNECTIONS, PER_IP, NULL);
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
		assert_int_equal(is_allowed(shared, &ip), allowed);
		if (allowed && entropy_below(100) < 55) {
			http_limit_count(shared, &ip, 1);
			counts[i]++;
			total++;
		} else if (counts[i] > 0) {
			http_limit_count(shared, &ip, -1);
			counts[i]--;
			total--;
		}
	}
	free_shared(shared);
}

TEST_MAIN()
