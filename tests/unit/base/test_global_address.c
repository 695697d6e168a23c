#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/un.h>

#include "lib/base/global_address.h"
#include "tests/support/test.h"

static bool is_global(const char *text)
{
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} address = { 0 };
	if (inet_pton(AF_INET, text, &address.in.sin_addr) == 1) {
		address.in.sin_family = AF_INET;
	} else {
		assert_int_equal(inet_pton(AF_INET6, text, &address.in6.sin6_addr), 1);
		address.in6.sin6_family = AF_INET6;
	}
	return global_address_is(&address.any);
}

static void expect(bool wanted, const char *const *texts)
{
	for (; *texts; texts++) {
		if (is_global(*texts) != wanted)
			fail_msg("%s: %d", *texts, !wanted);
	}
}

TEST_CASE(accepts_the_neighbours_of_ipv4_blocks)
{
	expect(true, (const char *const[]){
			     "1.0.0.0",         "8.8.8.8",       "9.255.255.255",   "11.0.0.0",
			     "100.63.255.255",  "100.128.0.0",   "126.255.255.255", "128.0.0.0",
			     "168.63.129.15",   "168.63.129.17", "169.253.255.255", "169.255.0.0",
			     "172.15.255.255",  "172.32.0.0",    "191.255.255.255", "192.0.1.0",
			     "192.0.1.255",     "192.0.3.0",     "192.31.195.255",  "192.31.197.0",
			     "192.52.192.255",  "192.52.194.0",  "192.88.98.255",   "192.88.100.0",
			     "192.167.255.255", "192.169.0.0",   "192.175.47.255",  "192.175.49.0",
			     "198.17.255.255",  "198.20.0.0",    "198.51.99.255",   "198.51.101.0",
			     "203.0.112.255",   "203.0.114.0",   "223.255.255.255", NULL,
		     });
}

TEST_CASE(rejects_both_ends_of_each_ipv4_block)
{
	expect(false, (const char *const[]){
			      "0.0.0.0",
			      "0.255.255.255",
			      "10.0.0.0",
			      "10.255.255.255",
			      "100.64.0.0",
			      "100.127.255.255",
			      "100.100.100.200",
			      "127.0.0.0",
			      "127.0.0.1",
			      "127.255.255.255",
			      "168.63.129.16",
			      "169.254.0.0",
			      "169.254.169.254",
			      "169.254.255.255",
			      "172.16.0.0",
			      "172.31.255.255",
			      "192.0.0.0",
			      "192.0.0.192",
			      "192.0.0.255",
			      "192.0.2.0",
			      "192.0.2.255",
			      "192.31.196.0",
			      "192.31.196.255",
			      "192.52.193.0",
			      "192.52.193.255",
			      "192.88.99.0",
			      "192.88.99.255",
			      "192.168.0.0",
			      "192.168.255.255",
			      "192.175.48.0",
			      "192.175.48.255",
			      "198.18.0.0",
			      "198.19.255.255",
			      "198.51.100.0",
			      "198.51.100.255",
			      "203.0.113.0",
			      "203.0.113.255",
			      "224.0.0.0",
			      "239.255.255.255",
			      "240.0.0.0",
			      "255.255.255.254",
			      "255.255.255.255",
			      NULL,
		      });
}

TEST_CASE(accepts_the_neighbours_of_ipv6_blocks)
{
	expect(true, (const char *const[]){
			     "2000::1",
			     "2001:200::1",
			     "2001:4860:4860::8888",
			     "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff",
			     "2001:db9::",
			     "2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
			     "2003::",
			     "2606:4700::1111",
			     "2620:4f:7fff:ffff:ffff:ffff:ffff:ffff",
			     "2620:4f:8001::",
			     "2a00:1450:4001:80b::200e",
			     "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
			     "3fff:1000::",
			     /* Not ISATAP: differs in one bit. */
			     "2606:4700::100:5efe:1.1.1.1",
			     "2606:4700::5eff:1.1.1.1",
			     NULL,
		     });
}

TEST_CASE(rejects_all_other_ipv6)
{
	expect(false, (const char *const[]){
			      "::",
			      "::1",
			      "::127.0.0.1",
			      "::8.8.8.8",
			      "::ffff:127.0.0.1",
			      "::ffff:8.8.8.8",
			      "::ffff:0:8.8.8.8",
			      "64:ff9b::127.0.0.1",
			      "64:ff9b::8.8.8.8",
			      "64:ff9b:1::10.0.0.1",
			      "100::",
			      "100:0:0:1::",
			      "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
			      "2001::",
			      "2001:0:4136:e378:8000:63bf:3fff:fdd2",
			      "2001:1::1",
			      "2001:2::",
			      "2001:10::",
			      "2001:20::",
			      "2001:30::",
			      "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff",
			      "2001:db8::",
			      "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
			      "2002::",
			      "2002:7f00:1::1",
			      "2002:808:808::",
			      "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
			      "2620:4f:8000::",
			      "2620:4f:8000:ffff:ffff:ffff:ffff:ffff",
			      "2606:4700::5efe:127.0.0.1",
			      "2606:4700::200:5efe:8.8.8.8",
			      "3fff::",
			      "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff",
			      "4000::",
			      "5f00::",
			      "fc00::",
			      "fd00:ec2::254",
			      "fd20:ce::254",
			      "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
			      "fe80::1",
			      "febf::",
			      "fec0::1",
			      "ff02::1",
			      "ff0e::1",
			      "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
			      NULL,
		      });
}

TEST_CASE(rejects_scoped_addresses_and_other_families)
{
	struct sockaddr_in6 scoped = { .sin6_family = AF_INET6, .sin6_scope_id = 2 };
	assert_int_equal(inet_pton(AF_INET6, "2606:4700::1111", &scoped.sin6_addr), 1);
	assert_false(global_address_is((const struct sockaddr *)&scoped));
	scoped.sin6_scope_id = 0;
	assert_true(global_address_is((const struct sockaddr *)&scoped));
	struct sockaddr_un local = { .sun_family = AF_UNIX };
	assert_false(global_address_is((const struct sockaddr *)&local));
	struct sockaddr nothing = { .sa_family = AF_UNSPEC };
	assert_false(global_address_is(&nothing));
}

TEST_MAIN()
