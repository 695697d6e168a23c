#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "services/links-api/links/utm.h"
#include "tests/support/test.h"
#include "tests/unit/services/links-api/json_fixture.h"

/* members: those of a body. */
static enum err apply(const char *members, const char *url, char out[static LINK_URL_SIZE])
{
	struct http_problem_fields wrong = { 0 };
	struct utm *utm = NULL;
	struct json *json = json_fixture_parse(members);
	for (size_t i = 0; i < UTM_COUNT; i++) {
		const struct json *value = json_get(json, utm_name(i));
		if (value)
			utm_read(&utm, i, value, "/x", &wrong);
	}
	json_free(json);
	assert_int_equal(wrong.count, 0);
	enum err err = utm_apply(utm, url, LINK_URL_MAX, out);
	free(utm);
	return err;
}

static void assert_becomes(const char *members, const char *url, const char *expected)
{
	char out[LINK_URL_SIZE];
	assert_int_equal(apply(members, url, out), OK);
	assert_string_equal(out, expected);
}

TEST_CASE(adds_parameters_behind_the_others_and_before_the_fragment)
{
	assert_becomes("{\"utm_source\":\"letter\",\"utm_term\":\"a b&c\"}", "https://a.example/",
	               "https://a.example/?utm_source=letter&utm_term=a%20b%26c");
	assert_becomes("{\"utm_medium\":\"mäil\"}", "https://a.example/?x=1#f?y",
	               "https://a.example/?x=1&utm_medium=m%C3%A4il#f?y");
	assert_becomes("{\"utm_medium\":\"m\"}", "https://a.example/?#f",
	               "https://a.example/?utm_medium=m#f");
}

TEST_CASE(replaces_parameters_in_their_place_and_leaves_others)
{
	assert_becomes("{\"utm_source\":\"new\"}",
	               "https://a.example/?a&utm_source=old&b=%41&utm%5Fsource=2",
	               "https://a.example/?a&utm_source=new&b=%41");
	assert_becomes("{\"utm_source\":null}", "https://a.example/?utm_source=old",
	               "https://a.example/");
	assert_becomes("{\"utm_source\":null}", "https://a.example/?utm_source=old&c=1#x",
	               "https://a.example/?c=1#x");
	assert_becomes("{\"utm_content\":null}", "https://a.example/?utm_contents=1",
	               "https://a.example/?utm_contents=1");
}

TEST_CASE(a_destination_that_would_be_too_long_or_of_an_app_has_none)
{
	char url[LINK_URL_SIZE] = "https://a.example/", out[LINK_URL_SIZE];
	memset(url + strlen(url), 'a', LINK_URL_MAX - strlen(url));
	assert_int_equal(apply("{\"utm_source\":\"x\"}", url, out), ERR_LIMIT);
	assert_int_equal(apply("{\"utm_source\":\"x\"}", "myapp://a", out), ERR_INVALID);
}

TEST_CASE(shows_what_the_query_says)
{
	struct json *json = json_new_object();
	utm_json_set(
		json,
		"https://a.example/?utm_source=a+b%26&utm_source=c&utm_medium=&utm_campaign#utm_term=x");
	json_fixture_assert_text(
		json, "{\"utm_source\":\"a b&\",\"utm_medium\":null,\"utm_campaign\":null,"
		      "\"utm_term\":null,\"utm_content\":null}");
}

TEST_MAIN()
