#include <stdint.h>

#include "lib/base/array.h"
#include "services/links-api/statistics/visit_filter.h"
#include "tests/support/test.h"

TEST_CASE(every_dimension_is_found_by_its_name)
{
	for (enum visit_dimension d = 0; d < VISIT_DIMENSION_COUNT; d++) {
		enum visit_dimension found = VISIT_DIMENSION_COUNT;
		assert_int_equal(
			visit_filter_parse_dimension(visit_filter_dimension_name(d), &found), OK);
		assert_int_equal(found, d);
	}
}

TEST_CASE(all_dimensions_but_two_are_rolled_up)
{
	for (enum visit_dimension d = 0; d < VISIT_DIMENSION_COUNT; d++)
		assert_int_equal(visit_filter_is_rolled_up(d),
		                 d != VISIT_DIMENSION_REFERRER_SOURCE &&
		                         d != VISIT_DIMENSION_BOT_REASON);
}

TEST_CASE(refuses_other_names)
{
	static const char *const others[] = { "",       "total",    "Country",
		                              "countr", "country ", "referrer" };
	enum visit_dimension found;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_int_equal(visit_filter_parse_dimension(others[i], &found), ERR_NOT_FOUND);
}

TEST_MAIN()
