#include <stdint.h>
#include <string.h>

#include "lib/links/slug.h"
#include "services/links-api/links/reserved_slugs.h"
#include "tests/support/test.h"

TEST_CASE(reserves_the_listed_slugs_in_any_case)
{
	struct reserved_slugs *reserve;
	assert_int_equal(reserved_slugs_new("  brand,Sale\nx_1-2 \t,,news", &reserve), OK);
	const char *const listed[] = { "brand", "BRAND", "sale", "x_1-2", "News" };
	for (size_t i = 0; i < sizeof(listed) / sizeof(listed[0]); i++)
		assert_true(reserved_slugs_contain(reserve, listed[i]));
	const char *const others[] = { "brands", "bran", "x_1", "sal", "a", "z" };
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(reserved_slugs_contain(reserve, others[i]));
	reserved_slugs_free(reserve);
}

TEST_CASE(reserves_nothing_with_an_empty_list)
{
	struct reserved_slugs *reserve;
	assert_int_equal(reserved_slugs_new("", &reserve), OK);
	assert_false(reserved_slugs_contain(reserve, "brand"));
	reserved_slugs_free(reserve);
}

TEST_CASE(rejects_a_list_with_an_invalid_slug)
{
	struct reserved_slugs *reserve;
	assert_int_equal(reserved_slugs_new("good,.txt", &reserve), ERR_INVALID);
	char longer[SLUG_SIZE + 1] = { 0 };
	memset(longer, 'a', SLUG_SIZE);
	assert_int_equal(reserved_slugs_new(longer, &reserve), ERR_INVALID);
}

TEST_MAIN()
