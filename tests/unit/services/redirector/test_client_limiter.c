#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "services/redirector/client_limiter.h"
#include "tests/support/test.h"

#define SECOND CLOCK_US_PER_S

static struct client_ip ip_of(const char *text)
{
	struct client_ip ip;
	assert_int_equal(client_ip_parse(text, strlen(text), &ip), OK);
	return ip;
}

static void count(struct client_limiter *limiter, const char *text, int times, int64_t now_us)
{
	struct client_ip ip = ip_of(text);
	for (int i = 0; i < times; i++)
		client_limiter_record_miss(limiter, &ip, now_us);
}

static int64_t wait_s(struct client_limiter *limiter, const char *text, int64_t now_us)
{
	struct client_ip ip = ip_of(text);
	return client_limiter_retry_after_s(limiter, &ip, now_us);
}

TEST_CASE(limits_one_address_and_no_other)
{
	struct client_limiter *limiter = client_limiter_new(3);
	count(limiter, "203.0.113.7", 2, 0);
	assert_int_equal(wait_s(limiter, "203.0.113.7", 0), 0);
	count(limiter, "203.0.113.7", 1, 0);
	assert_int_equal(wait_s(limiter, "203.0.113.7", 0), 60);
	assert_int_equal(wait_s(limiter, "203.0.113.8", 0), 0);
	client_limiter_free(limiter);
}

TEST_CASE(the_window_ends_a_minute_after_the_first_miss)
{
	struct client_limiter *limiter = client_limiter_new(2);
	count(limiter, "203.0.113.7", 1, 5 * SECOND);
	count(limiter, "203.0.113.7", 1, 25 * SECOND);
	assert_int_equal(wait_s(limiter, "203.0.113.7", 25 * SECOND), 40);
	assert_int_equal(wait_s(limiter, "203.0.113.7", 65 * SECOND - 1), 1);
	assert_int_equal(wait_s(limiter, "203.0.113.7", 65 * SECOND), 0);
	count(limiter, "203.0.113.7", 1, 65 * SECOND);
	assert_int_equal(wait_s(limiter, "203.0.113.7", 65 * SECOND), 0);
	client_limiter_free(limiter);
}

TEST_CASE(counts_a_64_of_ipv6_as_one_address)
{
	struct client_limiter *limiter = client_limiter_new(2);
	count(limiter, "2001:db8:1:2::1", 1, 0);
	count(limiter, "2001:db8:1:2:ffff::1", 1, 0);
	assert_int_equal(wait_s(limiter, "2001:db8:1:2::77", 0), 60);
	assert_int_equal(wait_s(limiter, "2001:db8:1:3::1", 0), 0);
	client_limiter_free(limiter);
}

TEST_CASE(counts_a_48_of_ipv6_four_times_as_generously)
{
	struct client_limiter *limiter = client_limiter_new(2);
	for (int i = 0; i < 8; i++) {
		char text[32];
		snprintf(text, sizeof(text), "2001:db8:1:%x::1", (unsigned)i);
		assert_int_equal(wait_s(limiter, text, 0), 0);
		count(limiter, text, 1, 0);
	}
	assert_int_equal(wait_s(limiter, "2001:db8:1:ffff::1", 0), 60);
	assert_int_equal(wait_s(limiter, "2001:db8:2:1::1", 0), 0);
	client_limiter_free(limiter);
}

TEST_CASE(does_not_limit_at_zero_or_unknown_addresses)
{
	struct client_limiter *off = client_limiter_new(0);
	count(off, "203.0.113.7", 1000, 0);
	assert_int_equal(wait_s(off, "203.0.113.7", 0), 0);
	client_limiter_free(off);

	struct client_limiter *limiter = client_limiter_new(1);
	struct client_ip unknown = { 0 };
	for (int i = 0; i < 10; i++)
		client_limiter_record_miss(limiter, &unknown, 0);
	assert_int_equal(client_limiter_retry_after_s(limiter, &unknown, 0), 0);
	client_limiter_free(limiter);
}

TEST_CASE(keeps_counting_however_many_addresses_come)
{
	struct client_limiter *limiter = client_limiter_new(2);
	struct client_ip ip = ip_of("10.0.0.0");
	for (int i = 0; i < 200000; i++) {
		ip.bytes[13] = (uint8_t)(i >> 16);
		ip.bytes[14] = (uint8_t)(i >> 8);
		ip.bytes[15] = (uint8_t)i;
		client_limiter_record_miss(limiter, &ip, i);
	}
	count(limiter, "203.0.113.7", 2, 200000);
	assert_int_equal(wait_s(limiter, "203.0.113.7", 200000), 60);
	client_limiter_free(limiter);
}

TEST_MAIN()
