#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include "lib/net/pg_error.h"

static void tells_conflicts_from_refused_data(void **state)
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

static void calls_a_server_that_goes_away_unavailable(void **state)
{
	(void)state;
	static const char *const gone[] = { "08006", "57P01", "57P02", "57P03", "25P03", "25006", "28P01" };
	for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++) {
		assert_int_equal(pg_error_of_sqlstate(gone[i]), ERR_UNAVAILABLE);
		assert_true(pg_error_breaks_connection(gone[i]));
	}
}

static void keeps_a_connection_whose_statement_took_too_long(void **state)
{
	(void)state;
	assert_int_equal(pg_error_of_sqlstate("57014"), ERR_LIMIT);
	assert_false(pg_error_breaks_connection("57014"));
}

static void takes_no_answer_for_a_broken_connection(void **state)
{
	(void)state;
	assert_int_equal(pg_error_of_sqlstate(NULL), ERR_UNAVAILABLE);
	assert_true(pg_error_breaks_connection(NULL));
}

static void calls_everything_else_a_bug(void **state)
{
	(void)state;
	static const char *const bugs[] = { "42601", "42P01", "25P02", "XX000", "" };
	for (size_t i = 0; i < sizeof(bugs) / sizeof(bugs[0]); i++)
		assert_int_equal(pg_error_of_sqlstate(bugs[i]), ERR_INTERNAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_conflicts_from_refused_data),
		cmocka_unit_test(calls_a_server_that_goes_away_unavailable),
		cmocka_unit_test(keeps_a_connection_whose_statement_took_too_long),
		cmocka_unit_test(takes_no_answer_for_a_broken_connection),
		cmocka_unit_test(calls_everything_else_a_bug),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
