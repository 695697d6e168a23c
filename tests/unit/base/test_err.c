#include <stdint.h>
#include <string.h>

#include "lib/base/err.h"
#include "tests/support/test.h"

TEST_CASE(error_names_are_lower_case_without_prefix)
{
	assert_string_equal(err_name(OK), "ok");
	assert_string_equal(err_name(ERR_INVALID), "invalid");
	assert_string_equal(err_name(ERR_NOT_FOUND), "not_found");
	assert_string_equal(err_name(ERR_CONFLICT), "conflict");
	assert_string_equal(err_name(ERR_UNAVAILABLE), "unavailable");
	assert_string_equal(err_name(ERR_LIMIT), "limit");
	assert_string_equal(err_name(ERR_INTERNAL), "internal");
}

TEST_CASE(an_unknown_number_has_a_name_too)
{
	assert_string_equal(err_name((enum err)99), "unknown");
}

TEST_MAIN()
