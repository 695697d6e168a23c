#include <stdint.h>

#include "lib/postgres/pg_error.h"
#include "tests/support/test.h"

static void distinguishes_conflicts_from_rejected_data(void **state)
{
	(void)state;
	static const char *const conflicts[] = { "23505", "23503", "23P01", "40001", "40P01" };
	static const char *const refusals[] = { "23514", "23502", "22021", "22003", "22P02" };
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(pg_error_of_sqlstate(conflicts[i]), ERR_CONFLICT);
		assert_int_equal(pg_error_of_sqlstate(refusals[i]), ERR_INVALID);
		assert_false(pg_error_breaks_connection(conflicts[i]));
		assert_false(pg_error_breaks_connection(refusals[i]));
	}
}

static void maps_a_server_that_shuts_down_to_unavailable(void **state)
{
	(void)state;
	static const char *const gone[] = { "08006", "57P01", "57P02", "57P03",
		                            "25P03", "25006", "28P01" };
	for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++) {
		assert_int_equal(pg_error_of_sqlstate(gone[i]), ERR_UNAVAILABLE);
		assert_true(pg_error_breaks_connection(gone[i]));
	}
}

static void keeps_a_connection_after_a_statement_timeout(void **state)
{
	(void)state;
	assert_int_equal(pg_error_of_sqlstate("57014"), ERR_LIMIT);
	assert_false(pg_error_breaks_connection("57014"));
}

static void maps_a_missing_sqlstate_to_a_broken_connection(void **state)
{
	(void)state;
	assert_int_equal(pg_error_of_sqlstate(NULL), ERR_UNAVAILABLE);
	assert_true(pg_error_breaks_connection(NULL));
}

static void maps_everything_else_to_an_internal_error(void **state)
{
	(void)state;
	static const char *const bugs[] = { "42601", "42P01", "25P02", "XX000", "" };
	for (size_t i = 0; i < sizeof(bugs) / sizeof(bugs[0]); i++)
		assert_int_equal(pg_error_of_sqlstate(bugs[i]), ERR_INTERNAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(distinguishes_conflicts_from_rejected_data),
		cmocka_unit_test(maps_a_server_that_shuts_down_to_unavailable),
		cmocka_unit_test(keeps_a_connection_after_a_statement_timeout),
		cmocka_unit_test(maps_a_missing_sqlstate_to_a_broken_connection),
		cmocka_unit_test(maps_everything_else_to_an_internal_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
