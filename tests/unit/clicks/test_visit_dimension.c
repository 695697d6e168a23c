#include <stdint.h>

#include "lib/base/array.h"
#include "lib/clicks/visit_dimension.h"
#include "tests/support/test.h"

TEST_CASE(every_dimension_is_found_by_its_name)
{
	for (enum visit_dimension d = VISIT_DIMENSION_FIRST; d < VISIT_DIMENSION_END; d++) {
		enum visit_dimension found = VISIT_DIMENSION_END;
		assert_int_equal(visit_dimension_parse(visit_dimension_name(d), &found), OK);
		assert_int_equal(found, d);
	}
}

TEST_CASE(all_dimensions_but_two_are_rolled_up)
{
	for (enum visit_dimension d = VISIT_DIMENSION_FIRST; d < VISIT_DIMENSION_END; d++)
		assert_int_equal(visit_dimension_is_rolled_up(d),
		                 d != VISIT_DIMENSION_REFERRER_SOURCE &&
		                         d != VISIT_DIMENSION_BOT_REASON);
}

TEST_CASE(refuses_other_names)
{
	static const char *const others[] = { "",         "total",    "Country", "countr",
		                              "country ", "referrer", "quarters" };
	enum visit_dimension found;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_int_equal(visit_dimension_parse(others[i], &found), ERR_NOT_FOUND);
}

TEST_MAIN()
