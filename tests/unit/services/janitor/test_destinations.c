#include <stdint.h>

#include "services/janitor/destinations/destinations.h"
#include "tests/support/test.h"

TEST_CASE(treats_a_status_that_shows_a_working_server_as_alive)
{
	const int alive[] = { 200, 204, 301, 302, 399, 401, 403, 405, 429, 451, 999 };
	const int dead[] = { 0, 400, 404, 410, 418, 500, 502, 503, 599 };
	for (size_t i = 0; i < sizeof(alive) / sizeof(alive[0]); i++)
		assert_false(destinations_is_dead(alive[i]));
	for (size_t i = 0; i < sizeof(dead) / sizeof(dead[0]); i++)
		assert_true(destinations_is_dead(dead[i]));
	assert_false(destinations_is_dead(-1)); /* not requested */
}

TEST_CASE(doubles_the_interval_with_each_failure)
{
	assert_int_equal(destinations_next_s(86400, 900, 0, 0), 86400);
	int64_t wanted_s = 900;
	for (int64_t failures = 1; failures <= 20; failures++) {
		assert_int_equal(destinations_next_s(86400, 900, failures, 0), wanted_s);
		wanted_s = wanted_s * 2 < DESTINATIONS_RETRY_S_MAX ? wanted_s * 2
		                                                   : DESTINATIONS_RETRY_S_MAX;
	}
	assert_int_equal(destinations_next_s(1, 1, DESTINATIONS_FAILURES_MAX, 0),
	                 DESTINATIONS_RETRY_S_MAX);
	assert_int_equal(destinations_next_s(1, INT64_C(31536000), 9, 0), DESTINATIONS_RETRY_S_MAX);
}

TEST_CASE(spreads_the_checks_of_links_created_together)
{
	int64_t least_s = INT64_MAX, most_s = 0;
	for (int64_t id = 1; id <= 1000; id++) {
		int64_t next_s = destinations_next_s(86400, 900, 0, id);
		assert_in_range(next_s, 86400, 86400 + 8640);
		assert_int_equal(next_s, destinations_next_s(86400, 900, 0, id));
		least_s = next_s < least_s ? next_s : least_s;
		most_s = next_s > most_s ? next_s : most_s;
	}
	assert_true(most_s - least_s > 8000);
}

TEST_MAIN()
