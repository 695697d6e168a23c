#include <stdint.h>

#include "services/links-api/qr/qr_params.h"
#include "tests/support/test.h"

TEST_CASE(every_parameter_has_a_default)
{
	struct qr_params params;
	struct http_problem_fields wrong = { 0 };
	assert_int_equal(qr_params_parse("", &params, &wrong), OK);
	assert_int_equal(params.format, QR_FORMAT_ANY);
	assert_int_equal(params.image.size, 256);
	assert_int_equal(params.image.margin, 4);
}

TEST_CASE(accepts_values_up_to_the_limits)
{
	struct qr_params params;
	struct http_problem_fields wrong = { 0 };
	assert_int_equal(qr_params_parse("margin=0&format=png&size=2048", &params, &wrong), OK);
	assert_int_equal(params.format, QR_FORMAT_PNG);
	assert_int_equal(params.image.size, 2048);
	assert_int_equal(params.image.margin, 0);
	assert_int_equal(qr_params_parse("size=64&margin=16&format=svg", &params, &wrong), OK);
	assert_int_equal(params.image.size, 64);
	assert_int_equal(params.image.margin, 16);
}

TEST_CASE(reports_each_invalid_parameter)
{
	static const struct {
		const char *query, *pointer;
	} cases[] = {
		{ "size=63", "/size" },
		{ "size=2049", "/size" },
		{ "size=", "/size" },
		{ "size=1e2", "/size" },
		{ "size=%zz", "/size" },
		{ "size=100&size=100", "/size" },
		{ "margin=17", "/margin" },
		{ "margin=-1", "/margin" },
		{ "format=gif", "/format" },
		{ "format=", "/format" },
		{ "format", "/format" },
		{ "colour=red", "/colour" },
		{ "format=PNG", "/format" },
		{ "%00=1", "/%00" },
		{ "size=99999999999999999999", "/size" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct qr_params params;
		struct http_problem_fields wrong = { 0 };
		if (qr_params_parse(cases[i].query, &params, &wrong) != ERR_INVALID)
			fail_msg("accepted: %s", cases[i].query);
		assert_int_equal(wrong.count, 1);
		assert_string_equal(wrong.field[0].pointer, cases[i].pointer);
	}
	struct qr_params params;
	struct http_problem_fields wrong = { 0 };
	assert_int_equal(qr_params_parse("size=1&margin=99&format=x&y", &params, &wrong),
	                 ERR_INVALID);
	assert_int_equal(wrong.count, 4);
}

TEST_MAIN()
