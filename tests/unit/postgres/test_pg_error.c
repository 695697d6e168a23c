#include <stdint.h>

#include "lib/postgres/pg_error.h"
#include "tests/support/test.h"

TEST_CASE(distinguishes_conflicts_from_rejected_data)
{
	static const char *const conflicts[] = { "23505", "23503", "23P01", "40001", "40P01" };
	static const char *const refusals[] = { "23514", "23502", "22021", "22003", "22P02" };
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(pg_error_of_sqlstate(conflicts[i]), ERR_CONFLICT);
		assert_int_equal(pg_error_of_sqlstate(refusals[i]), ERR_INVALID);
		assert_false(pg_error_breaks_connection(conflicts[i]));
		assert_false(pg_error_breaks_connection(refusals[i]));
	}
}

TEST_CASE(maps_a_server_that_shuts_down_to_unavailable)
{
	static const char *const gone[] = { "08006", "57P01", "57P02", "57P03",
		                            "25P03", "25006", "28P01" };
	for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++) {
		assert_int_equal(pg_error_of_sqlstate(gone[i]), ERR_UNAVAILABLE);
		assert_true(pg_error_breaks_connection(gone[i]));
	}
}

TEST_CASE(keeps_a_connection_after_a_statement_timeout)
{
	assert_int_equal(pg_error_of_sqlstate("57014"), ERR_LIMIT);
	assert_false(pg_error_breaks_connection("57014"));
}

TEST_CASE(maps_a_missing_sqlstate_to_a_broken_connection)
{
	assert_int_equal(pg_error_of_sqlstate(NULL), ERR_UNAVAILABLE);
	assert_true(pg_error_breaks_connection(NULL));
}

TEST_CASE(maps_everything_else_to_an_internal_error)
{
	static const char *const bugs[] = { "42601", "42P01", "25P02", "XX000", "" };
	for (size_t i = 0; i < sizeof(bugs) / sizeof(bugs[0]); i++)
		assert_int_equal(pg_error_of_sqlstate(bugs[i]), ERR_INTERNAL);
}

TEST_MAIN()
