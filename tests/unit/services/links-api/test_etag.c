#include <stdint.h>

#include "services/links-api/http/etag.h"
#include "tests/support/test.h"

TEST_CASE(formats_the_version_in_quotes)
{
	char etag[ETAG_SIZE];
	etag_format(INT64_MAX, etag);
	assert_string_equal(etag, "\"v9223372036854775807\"");
}

TEST_CASE(if_match_allows_its_own_tag_a_star_or_no_header)
{
	assert_true(etag_if_match(NULL, 7));
	assert_true(etag_if_match("*", 7));
	assert_true(etag_if_match("\"v7\"", 7));
	assert_true(etag_if_match(" \"v7\"\t", 7));
	assert_true(etag_if_match("\"v6\", \"v7\"", 7));
	assert_true(etag_if_match("\"v6\",,\"v7\" ,\"v8\"", 7));
}

TEST_CASE(if_match_rejects_every_other_tag)
{
	static const char *const others[] = {
		"",        ",",
		"\"v6\"",  "\"v77\"",
		"\"v\"",   "v7",
		"\"V7\"",  "W/\"v7\"",
		"\"*\"",   "**",
		"\"v7",    "v7\"",
		"\"v07\"", "\"v7\"\"v7\"",
		"7",       "\"v6\", W/\"v7\"",
	};
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (etag_if_match(others[i], 7))
			fail_msg("passed: %s", others[i]);
}

TEST_CASE(a_list_of_tags_has_quotes_or_is_a_star)
{
	static const char *const valid[] = { "*", "\"v1\"", " \"v1\"\t", "\"v6\", W/\"v7\"",
		                             "\"a,b\"" };
	static const char *const invalid[] = { "",     ",",         "v1",           "\"v1",
		                               "v1\"", "\"v1\" v2", "\"v1\"\"v2\"", "*, \"v1\"",
		                               "W/v1", "w/\"v1\"",  "\"v1\", *" };
	for (size_t i = 0; i < sizeof(valid) / sizeof(valid[0]); i++)
		if (!etag_list_is_valid(valid[i]))
			fail_msg("rejected: %s", valid[i]);
	for (size_t i = 0; i < sizeof(invalid) / sizeof(invalid[0]); i++)
		if (etag_list_is_valid(invalid[i]))
			fail_msg("passed: %s", invalid[i]);
}

TEST_CASE(if_none_match_skips_the_body_that_the_client_has)
{
	assert_true(etag_if_none_match(NULL, "\"a1\""));
	assert_true(etag_if_none_match("", "\"a1\""));
	assert_true(etag_if_none_match("\"a2\", \"a11\", a1", "\"a1\""));
	assert_false(etag_if_none_match("*", "\"a1\""));
	assert_false(etag_if_none_match("\"a1\"", "\"a1\""));
	assert_false(etag_if_none_match("\"a2\" , W/\"a1\" ", "\"a1\""));
}

TEST_MAIN()
