#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"
#include "services/links-api/statistics/stats_request.h"
#include "tests/support/test.h"
#include "tests/unit/services/links-api/json_fixture.h"

#define NOW_US INT64_C(1795161600000000)

static const struct stats_json_freshness fresh = { NOW_US - 250000, NOW_US };
static const struct stats_json_freshness never = { 0, NOW_US };
static const struct stats_json_freshness early = { NOW_US + 5000, NOW_US };
static const struct visit_filter humans_filter = { .traffic = VISIT_FILTER_HUMANS };
static const struct visit_filter bots_filter = { .traffic = VISIT_FILTER_BOTS };
static const struct visit_filter everybody_filter = { .traffic = VISIT_FILTER_ALL };
static const struct statistics_query humans = { .link_id = 7,
	                                        .counted = { 0, NOW_US },
	                                        .filter = &humans_filter };
static const struct statistics_query bots = { .link_id = 7,
	                                      .counted = { 0, NOW_US },
	                                      .filter = &bots_filter };
static const struct statistics_query everybody = { .link_id = 7,
	                                           .counted = { 0, NOW_US },
	                                           .filter = &everybody_filter };

TEST_CASE(shows_counts_and_their_age)
{
	struct statistics statistics = {
		.link_id = 7,
		.visit_count = 3,
		.bot_count = 1,
		.unique_visitors = 2,
		.last_visited_at_us = NOW_US - 2000000,
		.latency_ms = { 4, 1.5, 3.0 },
	};
	json_fixture_assert_text(
		stats_json_of_link(&statistics, &fresh),
		"{\"link_id\":7,\"humans\":3,\"bots\":1,\"total\":4,\"unique_visitors\":2,"
		"\"last_visited_at\":\"2026-11-20T07:59:58.000Z\","
		"\"latency\":{\"count\":4,\"mean_ms\":1.5,\"stddev_ms\":1.0},"
		"\"as_of\":\"2026-11-20T07:59:59.750Z\",\"lag_ms\":250}");
}

TEST_CASE(shows_latencies_with_at_most_three_decimals)
{
	static const struct {
		struct welford latency_ms;
		const char *mean, *stddev;
	} cases[] = {
		{ { 5, 0.327, 1.7736419995 }, "0.327", "0.666" },
		{ { 3, 1.0 / 3, 2.0 / 9 }, "0.333", "0.333" },
		{ { 3, 2.0 / 3, 1e-9 }, "0.667", "0.0" },
		{ { 7, 0.1 + 0.2, 0 }, "0.3", "0.0" },
		{ { 2, 1234567.0004999, 5e11 }, "1234567.0", "707106.781" },
		{ { 2, 0.0005, 2e-7 }, "0.001", "0.0" },
		{ { 1, 30000.123, 0 }, "30000.123", "0.0" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct statistics statistics = { .latency_ms = cases[i].latency_ms };
		char wanted[200];
		snprintf(wanted, sizeof(wanted), "{\"count\":%d,\"mean_ms\":%s,\"stddev_ms\":%s}",
		         (int)cases[i].latency_ms.n, cases[i].mean, cases[i].stddev);
		struct json *link = stats_json_of_link(&statistics, &fresh);
		struct strbuf text;
		strbuf_init(&text, 1000);
		json_write(json_get(link, "latency"), &text);
		assert_string_equal(text.data, wanted);
		strbuf_clear(&text);
		json_free(link);
		snprintf(wanted, sizeof(wanted), "\"avg_latency_ms\":%s,", cases[i].mean);
		struct json *platform = stats_json_of_platform(0, &statistics, &fresh);
		strbuf_init(&text, 1000);
		json_write(platform, &text);
		assert_non_null(strstr(text.data, wanted));
		strbuf_clear(&text);
		json_free(platform);
	}
}

TEST_CASE(shows_null_if_nothing_has_been_counted)
{
	struct statistics none = { .link_id = 7 };
	json_fixture_assert_text(
		stats_json_of_link(&none, &never),
		"{\"link_id\":7,\"humans\":0,\"bots\":0,\"total\":0,\"unique_visitors\":0,\"last_visited_at\":null,"
		"\"latency\":{\"count\":0,\"mean_ms\":0.0,\"stddev_ms\":0.0},\"as_of\":null,\"lag_ms\":null}");
}

TEST_CASE(never_shows_a_negative_lag)
{
	struct statistics none = { 0 };
	struct json *json = stats_json_of_link(&none, &early);
	assert_int_equal(json_int(json_get(json, "lag_ms")), 0);
	json_free(json);
}

TEST_CASE(counts_redirects_of_humans_and_bots_for_the_platform)
{
	struct statistics statistics = { .visit_count = 3,
		                         .bot_count = 1,
		                         .latency_ms = { 4, 1.5, 3.0 } };
	json_fixture_assert_text(
		stats_json_of_platform(9, &statistics, &fresh),
		"{\"total_links\":9,\"humans\":3,\"bots\":1,\"total\":4,\"avg_latency_ms\":1.5,"
		"\"as_of\":\"2026-11-20T07:59:59.750Z\",\"lag_ms\":250}");
}

TEST_CASE(counts_mean_the_same_for_every_bots_parameter)
{
	struct statistics_sums sums = { 30, 4, 20 };
	const struct statistics_query *const questions[] = { &humans, &bots, &everybody };
	for (size_t i = 0; i < 3; i++) {
		struct json *range = stats_json_of_range(questions[i], 2, &sums, NULL, &fresh);
		assert_int_equal(json_int(json_get(range, "humans")), 30);
		assert_int_equal(json_int(json_get(range, "bots")), 4);
		assert_int_equal(json_int(json_get(range, "total")), 34);
		assert_int_equal(json_int(json_get(range, "unique_visitors")), 20);
		json_free(range);
	}
}

TEST_CASE(shows_a_range_that_starts_in_1970)
{
	struct stats_request_params params = { .zone = "UTC", .interval = LOCAL_CALENDAR_MONTH };
	struct statistics_sums sums = { 1, 2, 3 };
	int64_t start = 0;
	json_fixture_assert_text(
		stats_json_of_series(&humans, &params, &start, &sums, 1, NULL, &never),
		"{\"interval\":\"month\",\"tz\":\"UTC\",\"from\":\"1970-01-01T00:00:00.000Z\","
		"\"to\":\"2026-11-20T08:00:00.000Z\",\"points\":[{\"start\":\"1970-01-01T00:00:00.000Z\","
		"\"humans\":1,\"bots\":2,\"total\":3,\"unique_visitors\":3}],\"as_of\":null,\"lag_ms\":null}");
}

TEST_CASE(shows_an_earlier_period_beside_the_range)
{
	struct statistics_sums sums = { 1, 2, 1 }, before = { 5, 0, 4 };
	const struct stats_json_earlier earlier = { .question = &humans, .sums = &before };
	json_fixture_assert_text(
		stats_json_of_range(&humans, 0, &sums, &earlier, &never),
		"{\"link_id\":7,\"from\":\"1970-01-01T00:00:00.000Z\",\"to\":\"2026-11-20T08:00:00.000Z\","
		"\"humans\":1,\"bots\":2,\"total\":3,\"unique_visitors\":1,\"compared\":{"
		"\"from\":\"1970-01-01T00:00:00.000Z\",\"to\":\"2026-11-20T08:00:00.000Z\",\"humans\":5,"
		"\"bots\":0,\"total\":5,\"unique_visitors\":4},\"as_of\":null,\"lag_ms\":null}");
}

TEST_CASE(shows_null_for_an_earlier_period_that_cannot_be_counted)
{
	struct statistics_sums sums = { 1, 2, 1 };
	const struct stats_json_earlier unknown = { .question = NULL };
	struct json *range = stats_json_of_range(&humans, 0, &sums, &unknown, &never);
	assert_int_equal(json_type(json_get(range, "compared")), JSON_NULL);
	json_free(range);
	range = stats_json_of_range(&humans, 0, &sums, NULL, &never);
	assert_null(json_get(range, "compared"));
	json_free(range);
}

TEST_MAIN()
