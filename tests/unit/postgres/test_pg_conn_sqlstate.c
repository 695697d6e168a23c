#include <stdint.h>

#include "lib/postgres/pg_conn_internal.h"
#include "tests/support/test.h"

TEST_CASE(distinguishes_conflicts_from_rejected_data)
{
	static const char *const conflicts[] = { "23505", "23503", "23P01", "40001", "40P01" };
	static const char *const refusals[] = { "23514", "23502", "22021", "22003", "22P02" };
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(pg_conn_sqlstate_err(conflicts[i]), ERR_CONFLICT);
		assert_int_equal(pg_conn_sqlstate_err(refusals[i]), ERR_INVALID);
		assert_false(pg_conn_sqlstate_breaks(conflicts[i]));
		assert_false(pg_conn_sqlstate_breaks(refusals[i]));
	}
}

TEST_CASE(maps_a_server_that_shuts_down_to_unavailable)
{
	static const char *const gone[] = { "08006", "57P01", "57P02", "57P03",
		                            "25P03", "25006", "28P01" };
	for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++) {
		assert_int_equal(pg_conn_sqlstate_err(gone[i]), ERR_UNAVAILABLE);
		assert_true(pg_conn_sqlstate_breaks(gone[i]));
	}
}

TEST_CASE(keeps_a_connection_after_a_statement_timeout)
{
	assert_int_equal(pg_conn_sqlstate_err("57014"), ERR_LIMIT);
	assert_false(pg_conn_sqlstate_breaks("57014"));
}

TEST_CASE(maps_a_missing_sqlstate_to_a_broken_connection)
{
	assert_int_equal(pg_conn_sqlstate_err(NULL), ERR_UNAVAILABLE);
	assert_true(pg_conn_sqlstate_breaks(NULL));
}

TEST_CASE(maps_everything_else_to_an_internal_error)
{
	static const char *const bugs[] = { "42601", "42P01", "25P02", "XX000", "" };
	for (size_t i = 0; i < sizeof(bugs) / sizeof(bugs[0]); i++)
		assert_int_equal(pg_conn_sqlstate_err(bugs[i]), ERR_INTERNAL);
}

TEST_MAIN()
