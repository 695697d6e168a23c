#include <stdlib.h>
#include <string.h>

#include "lib/http/http_page.h"
#include "services/links-api/reports/report_page.h"
#include "tests/support/test.h"

static char *render(const struct report_page *page)
{
	struct strbuf html;
	strbuf_init(&html, REPORT_PAGE_BYTES_MAX);
	report_page_write(page, &html);
	assert_int_equal(strbuf_status(&html), OK);
	char *text = strdup(html.data);
	strbuf_clear(&html);
	return text;
}

static struct report_page empty(enum report_notice notice)
{
	return (struct report_page){ .notice = notice,
		                     .link = "",
		                     .reason = "",
		                     .details = "",
		                     .email = "",
		                     .operator_name = "",
		                     .brand = { .name = "sho.rt", .logo_path = "", .home = "" } };
}

TEST_CASE(the_policy_allows_only_the_style_of_the_page)
{
	(void)state;
	struct report_page page = empty(REPORT_NOTICE_NONE);
	char *html = render(&page);
	assert_non_null(strstr(report_page_policy(&page), "style-src '" HTTP_PAGE_STYLE_HASH "'"));
	assert_null(strstr(report_page_policy(&page), "img-src"));
	assert_null(strstr(html, "<script"));
	assert_null(strstr(html, "style=\""));
	page.brand.logo_path = "/assets/logo-1";
	assert_non_null(strstr(report_page_policy(&page), "; img-src 'self'; "));
	free(html);
}

TEST_CASE(a_page_shows_what_was_typed_and_never_runs_it)
{
	(void)state;
	struct report_page page = {
		.notice = REPORT_NOTICE_INVALID,
		.marks = REPORT_EMAIL,
		.link = "\"><script>alert(1)</script>",
		.reason = "spam",
		.details = "</textarea><b>&amp;",
		.email = "a\"onfocus=x",
		.operator_name = "<i>A",
		.brand = { .name = "<i>A", .logo_path = "", .home = "https://sho.rt" },
	};
	char *html = render(&page);
	assert_null(strstr(html, "<script"));
	assert_null(strstr(html, "<b>"));
	assert_non_null(strstr(html, "value=\"&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;\""));
	assert_non_null(strstr(html, ">\n&lt;/textarea&gt;&lt;b&gt;&amp;amp;</textarea>"));
	assert_non_null(strstr(html, "aria-invalid=\"true\" value=\"a&quot;onfocus=x\""));
	assert_non_null(strstr(html, "<footer><span>Operated by &lt;i&gt;A.</span></footer>"));
	assert_non_null(strstr(html, "<option value=\"spam\" selected>"));
	assert_non_null(strstr(html, "role=\"alert\">Check the marked fields."));
	free(html);
}

TEST_CASE(a_received_report_leaves_no_form)
{
	(void)state;
	struct report_page page = empty(REPORT_NOTICE_RECEIVED);
	page.language = REPORT_GERMAN;
	char *html = render(&page);
	assert_null(strstr(html, "<form"));
	assert_non_null(strstr(html, "<html lang=\"de\">"));
	assert_non_null(strstr(html, "<h1>Danke</h1>"));
	assert_null(strstr(html, "<footer>"));
	free(html);
}

TEST_CASE(the_language_is_the_preferred_one_of_ours)
{
	(void)state;
	static const struct {
		const char *header;
		enum report_language expected;
	} cases[] = {
		{ NULL, REPORT_ENGLISH },
		{ "", REPORT_ENGLISH },
		{ "de", REPORT_GERMAN },
		{ "DE-ch", REPORT_GERMAN },
		{ "it, de;q=0.5, en;q=0.4", REPORT_GERMAN },
		{ "fr-CA, de;q=0.9", REPORT_FRENCH },
		{ "en;q=0.4, de-AT;q=0.5", REPORT_GERMAN },
		{ "en, de", REPORT_ENGLISH },
		{ "de;q=0", REPORT_ENGLISH },
		{ "den", REPORT_ENGLISH },
		{ "de;q=nonsense", REPORT_ENGLISH },
		{ "d", REPORT_ENGLISH },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(report_page_language(cases[i].header), cases[i].expected);
}

TEST_MAIN()
