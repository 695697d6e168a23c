#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "services/redirector/lookup/unknown_slug_limiter.h"
#include "tests/support/clock_fake.h"
#include "tests/support/test.h"

#define SECOND CLOCK_US_PER_S

static struct client_ip ip_of(const char *text)
{
	struct client_ip ip;
	assert_int_equal(client_ip_parse(text, strlen(text), &ip), OK);
	return ip;
}

static void count(struct client_limiter *limiter, const char *text, int times)
{
	struct client_ip ip = ip_of(text);
	for (int i = 0; i < times; i++)
		unknown_slug_limiter_client_record_miss(limiter, &ip);
}

static int64_t wait_s(struct client_limiter *limiter, const char *text)
{
	struct client_ip ip = ip_of(text);
	return unknown_slug_limiter_client_retry_after_s(limiter, &ip);
}

static int set_up(void **state)
{
	static struct clock_fake clock;
	clock_fake_init(&clock, 0);
	*state = &clock;
	return 0;
}

static struct client_limiter *limiter_of(void **state, int64_t per_minute)
{
	struct clock_fake *clock = *state;
	return unknown_slug_limiter_client_new(per_minute, &clock->clock);
}

TEST_CASE(limits_one_address_and_no_other)
{
	struct client_limiter *limiter = limiter_of(state, 3);
	count(limiter, "203.0.113.7", 2);
	assert_int_equal(wait_s(limiter, "203.0.113.7"), 0);
	count(limiter, "203.0.113.7", 1);
	assert_int_equal(wait_s(limiter, "203.0.113.7"), 20);
	assert_int_equal(wait_s(limiter, "203.0.113.8"), 0);
	unknown_slug_limiter_client_free(limiter);
}

TEST_CASE(earns_a_miss_back_in_its_part_of_a_minute)
{
	struct clock_fake *clock = *state;
	struct client_limiter *limiter = limiter_of(state, 2);
	count(limiter, "203.0.113.7", 2);
	clock_fake_advance(clock, 30 * SECOND - 1);
	assert_int_equal(wait_s(limiter, "203.0.113.7"), 1);
	clock_fake_advance(clock, 1);
	assert_int_equal(wait_s(limiter, "203.0.113.7"), 0);
	count(limiter, "203.0.113.7", 1);
	assert_int_equal(wait_s(limiter, "203.0.113.7"), 30);
	unknown_slug_limiter_client_free(limiter);
}

TEST_CASE(counts_a_64_of_ipv6_as_one_address)
{
	struct client_limiter *limiter = limiter_of(state, 2);
	count(limiter, "2001:db8:1:2::1", 1);
	count(limiter, "2001:db8:1:2:ffff::1", 1);
	assert_int_equal(wait_s(limiter, "2001:db8:1:2::77"), 30);
	assert_int_equal(wait_s(limiter, "2001:db8:1:3::1"), 0);
	unknown_slug_limiter_client_free(limiter);
}

TEST_CASE(counts_a_48_of_ipv6_four_times_as_generously)
{
	struct client_limiter *limiter = limiter_of(state, 2);
	for (int i = 0; i < 8; i++) {
		char text[32];
		snprintf(text, sizeof(text), "2001:db8:1:%x::1", (unsigned)i);
		assert_int_equal(wait_s(limiter, text), 0);
		count(limiter, text, 1);
	}
	assert_int_equal(wait_s(limiter, "2001:db8:1:ffff::1"), 8);
	assert_int_equal(wait_s(limiter, "2001:db8:2:1::1"), 0);
	unknown_slug_limiter_client_free(limiter);
}

TEST_CASE(does_not_limit_without_a_limit_or_unknown_addresses)
{
	struct client_limiter *off = limiter_of(state, ENV_UNLIMITED);
	count(off, "203.0.113.7", 1000);
	assert_int_equal(wait_s(off, "203.0.113.7"), 0);
	unknown_slug_limiter_client_free(off);

	struct client_limiter *limiter = limiter_of(state, 1);
	struct client_ip unknown = { 0 };
	for (int i = 0; i < 10; i++)
		unknown_slug_limiter_client_record_miss(limiter, &unknown);
	assert_int_equal(unknown_slug_limiter_client_retry_after_s(limiter, &unknown), 0);
	unknown_slug_limiter_client_free(limiter);
}

TEST_MAIN(.set_up = set_up)
