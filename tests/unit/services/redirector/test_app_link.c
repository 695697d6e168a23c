#include "services/redirector/decide/app_link.h"
#include "tests/support/test.h"

TEST_CASE(every_scheme_but_those_of_the_web_is_of_an_app)
{
	assert_true(app_link_is_app("shop://open/7"));
	assert_true(app_link_is_app("mailto:a@example.com"));
	assert_true(app_link_is_app("httpsx://a"));
	assert_false(app_link_is_app("https://example.com/"));
	assert_false(app_link_is_app("HTTP://example.com/"));
}

static void assert_intent(const char *url, const char *fallback, const char *intent)
{
	struct strbuf b;
	strbuf_init(&b, 4096);
	app_link_add_intent(url, fallback, &b);
	assert_string_equal(b.data, intent);
	strbuf_clear(&b);
}

TEST_CASE(an_intent_names_the_scheme_and_the_fallback)
{
	assert_intent("shop://open/7?a=1", "https://example.com/a?b=1;end#c",
	              "intent://open/7?a=1#Intent;scheme=shop;S.browser_fallback_url="
	              "https%3A%2F%2Fexample.com%2Fa%3Fb%3D1%3Bend%23c;end");
	assert_intent("mailto:a@example.com", "https://example.com/",
	              "intent:a@example.com#Intent;scheme=mailto;S.browser_fallback_url="
	              "https%3A%2F%2Fexample.com%2F;end");
}

TEST_MAIN()
