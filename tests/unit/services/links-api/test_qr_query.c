#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

#include "services/links-api/qr/qr_query.h"

static void has_a_default_for_everything(void **state)
{
	(void)state;
	struct qr_query query;
	struct http_problem_fields wrong = { 0 };
	assert_int_equal(qr_query_read("", &query, &wrong), OK);
	assert_int_equal(query.format, QR_FORMAT_ANY);
	assert_int_equal(query.picture.size, 256);
	assert_int_equal(query.picture.margin, 4);
}

static void takes_what_is_wished_up_to_its_limits(void **state)
{
	(void)state;
	struct qr_query query;
	struct http_problem_fields wrong = { 0 };
	assert_int_equal(qr_query_read("margin=0&format=png&size=2048", &query, &wrong), OK);
	assert_int_equal(query.format, QR_FORMAT_PNG);
	assert_int_equal(query.picture.size, 2048);
	assert_int_equal(query.picture.margin, 0);
	assert_int_equal(qr_query_read("size=64&margin=16&format=svg", &query, &wrong), OK);
	assert_int_equal(query.picture.size, 64);
	assert_int_equal(query.picture.margin, 16);
}

static void names_each_parameter_that_is_wrong(void **state)
{
	(void)state;
	static const struct {
		const char *query, *pointer;
	} cases[] = {
		{ "size=63", "/size" },      { "size=2049", "/size" },   { "size=", "/size" },
		{ "size=1e2", "/size" },     { "size=%zz", "/size" },    { "size=100&size=100", "/size" },
		{ "margin=17", "/margin" },  { "margin=-1", "/margin" }, { "format=gif", "/format" },
		{ "format=", "/format" },    { "format", "/format" },    { "colour=red", "/colour" },
		{ "format=PNG", "/format" }, { "%00=1", "/" },           { "size=99999999999999999999", "/size" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct qr_query query;
		struct http_problem_fields wrong = { 0 };
		if (qr_query_read(cases[i].query, &query, &wrong) != ERR_INVALID)
			fail_msg("taken: %s", cases[i].query);
		assert_int_equal(wrong.count, 1);
		assert_string_equal(wrong.field[0].pointer, cases[i].pointer);
	}
	struct qr_query query;
	struct http_problem_fields wrong = { 0 };
	assert_int_equal(qr_query_read("size=1&margin=99&format=x&y", &query, &wrong), ERR_INVALID);
	assert_int_equal(wrong.count, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(has_a_default_for_everything),
		cmocka_unit_test(takes_what_is_wished_up_to_its_limits),
		cmocka_unit_test(names_each_parameter_that_is_wrong),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
