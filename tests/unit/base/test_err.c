#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include <string.h>

#include "lib/base/err.h"

static void names_every_error_in_lower_case_without_its_prefix(void **state)
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

static void names_a_number_that_is_no_error(void **state)
{
	(void)state;
	assert_string_equal(err_name((enum err)99), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_every_error_in_lower_case_without_its_prefix),
		cmocka_unit_test(names_a_number_that_is_no_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
