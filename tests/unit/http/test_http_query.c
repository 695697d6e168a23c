#include <stdint.h>
#include <string.h>

#include "lib/http/http_query.h"
#include "tests/support/test.h"

static void check(const char *query, const char *name, const char *expected)
{
	char out[64];
	if (http_query_value(query, name, out, sizeof(out)) != OK)
		fail_msg("%s is not found in \"%s\"", name, query);
	assert_string_equal(out, expected);
}

static enum err error_of(const char *query, const char *name, size_t size)
{
	char out[64];
	return http_query_value(query, name, out, size);
}

TEST_CASE(finds_the_first_value_of_a_name)
{
	check("a=1", "a", "1");
	check("a=1&b=2&a=3", "b", "2");
	check("a=1&b=2&a=3", "a", "1");
	check("aa=1&a=2", "a", "2");
	check("&&a=1&", "a", "1");
	check("a", "a", "");
	check("a=", "a", "");
	check("a&b=2", "b", "2");
	check("a=b=c", "a", "b=c");
	check("%61=1", "a", "1");
	check("a+b=1", "a b", "1");
}

TEST_CASE(decodes_escapes_and_plus_signs)
{
	check("q=a+b%20c%2B%26%3d", "q", "a b c+&=");
	check("q=%C3%A4%e2%82%ac", "q", "\303\244\342\202\254");
}

TEST_CASE(reports_a_missing_name)
{
	assert_int_equal(error_of("", "a", 64), ERR_NOT_FOUND);
	assert_int_equal(error_of("b=a", "a", 64), ERR_NOT_FOUND);
	assert_int_equal(error_of("A=1", "a", 64), ERR_NOT_FOUND);
	assert_int_equal(error_of("&", "", 64), ERR_NOT_FOUND);
	assert_int_equal(error_of("%6=1", "a", 64), ERR_NOT_FOUND);
}

TEST_CASE(rejects_malformed_escapes_nul_and_invalid_utf8)
{
	static const char *const queries[] = { "a=%",   "a=%4",    "a=%4g", "a=%g4",    "a=%%",
		                               "a=%00", "a=x%00y", "a=%ff", "a=%c0%80", "a=\xff" };
	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++)
		if (error_of(queries[i], "a", 64) != ERR_INVALID)
			fail_msg("accepted %s", queries[i]);
}

TEST_CASE(bounds_the_value)
{
	char out[4];
	assert_int_equal(http_query_value("a=123", "a", out, sizeof(out)), OK);
	assert_string_equal(out, "123");
	assert_int_equal(http_query_value("a=%31%32%33%34", "a", out, sizeof(out)), ERR_LIMIT);
	assert_int_equal(http_query_value("a=", "a", out, 0), ERR_LIMIT);
}

TEST_CASE(iterates_over_all_pairs_and_continues_after_a_malformed_one)
{
	const char *query = "&&a=1&b%21=x+y&&c&a=%zz&b=long&toolong=1&%zz=1&d=%C3%BC&";
	char name[4], value[4];
	static const struct {
		enum err err;
		const char *name, *value;
	} wanted[] = {
		{ OK, "a", "1" },
		{ OK, "b!", "x y" },
		{ OK, "c", "" },
		{ ERR_INVALID, "a", NULL },
		{ ERR_LIMIT, "b", NULL },
		{ ERR_LIMIT, "", NULL },
		{ ERR_INVALID, "", NULL },
		{ OK, "d", "ü" },
		{ ERR_NOT_FOUND, NULL, NULL },
		{ ERR_NOT_FOUND, NULL, NULL },
	};
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		assert_int_equal(http_query_next(&query, name, sizeof(name), value, sizeof(value)),
		                 wanted[i].err);
		if (wanted[i].name)
			assert_string_equal(name, wanted[i].name);
		if (wanted[i].value)
			assert_string_equal(value, wanted[i].value);
	}
}

TEST_MAIN()
