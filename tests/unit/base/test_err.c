#include <stdint.h>
#include <string.h>

#include "lib/base/err.h"
#include "tests/support/test.h"

static void error_names_are_lower_case_without_prefix(void **state)
{
	(void)state;
	assert_string_equal(err_name(OK), "ok");
	assert_string_equal(err_name(ERR_INVALID), "invalid");
	assert_string_equal(err_name(ERR_NOT_FOUND), "not_found");
	assert_string_equal(err_name(ERR_CONFLICT), "conflict");
	assert_string_equal(err_name(ERR_UNAVAILABLE), "unavailable");
	assert_string_equal(err_name(ERR_LIMIT), "limit");
	assert_string_equal(err_name(ERR_INTERNAL), "internal");
}

static void an_unknown_number_has_a_name_too(void **state)
{
	(void)state;
	assert_string_equal(err_name((enum err)99), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(error_names_are_lower_case_without_prefix),
		cmocka_unit_test(an_unknown_number_has_a_name_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
