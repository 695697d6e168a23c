#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include "services/links-api/stats_json.h"
#include "tests/unit/services/links-api/json_fixture.h"

#define NOW_US INT64_C(1795161600000000)

static void tells_what_was_counted_and_how_old_that_is(void **state)
{
	(void)state;
	struct statistics statistics = {
		.link_id = 7,
		.visit_count = 3,
		.bot_count = 1,
		.unique_visitors = 2,
		.last_visited_at_us = NOW_US - 2000000,
		.latency_ms = { 4, 1.5, 3.0 },
	};
	json_fixture_assert_text(stats_json_of_link(&statistics, NOW_US - 250000, NOW_US),
	                         "{\"link_id\":7,\"visit_count\":3,\"bot_count\":1,\"unique_visitors\":2,"
	                         "\"last_visited_at\":\"2026-11-20T07:59:58.000Z\","
	                         "\"latency\":{\"count\":4,\"mean_ms\":1.5,\"stddev_ms\":1.0},"
	                         "\"as_of\":\"2026-11-20T07:59:59.750Z\",\"lag_ms\":250}");
}

static void tells_when_nothing_was_ever_counted(void **state)
{
	(void)state;
	struct statistics none = { .link_id = 7 };
	json_fixture_assert_text(
		stats_json_of_link(&none, 0, NOW_US),
		"{\"link_id\":7,\"visit_count\":0,\"bot_count\":0,\"unique_visitors\":0,\"last_visited_at\":null,"
		"\"latency\":{\"count\":0,\"mean_ms\":0.0,\"stddev_ms\":0.0},\"as_of\":null,\"lag_ms\":null}");
}

static void never_tells_a_lag_below_zero(void **state)
{
	(void)state;
	struct statistics none = { 0 };
	struct json *json = stats_json_of_link(&none, NOW_US + 5000, NOW_US);
	assert_int_equal(json_int(json_get(json, "lag_ms")), 0);
	json_free(json);
}

static void counts_redirects_of_humans_and_bots_for_the_platform(void **state)
{
	(void)state;
	struct statistics statistics = { .visit_count = 3, .bot_count = 1, .latency_ms = { 4, 1.5, 3.0 } };
	json_fixture_assert_text(stats_json_of_platform(9, &statistics),
	                         "{\"total_links\":9,\"total_redirects\":4,\"avg_latency_ms\":1.5}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_what_was_counted_and_how_old_that_is),
		cmocka_unit_test(tells_when_nothing_was_ever_counted),
		cmocka_unit_test(never_tells_a_lag_below_zero),
		cmocka_unit_test(counts_redirects_of_humans_and_bots_for_the_platform),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
