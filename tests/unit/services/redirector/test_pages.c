#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "services/redirector/pages/pages.h"
#include "tests/support/test.h"
#include "tests/unit/http/http_fixture.h"

TEST_CASE(browsers_get_a_page)
{
	assert_true(pages_prefers_html(
		"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"));
	assert_true(pages_prefers_html("text/html"));
	assert_true(pages_prefers_html("TEXT/HTML; charset=utf-8"));
	assert_true(pages_prefers_html("application/json;q=0.5, text/html;q=0.9"));
	assert_true(pages_prefers_html("application/json, text/html"));
	assert_true(pages_prefers_html("text/html;level=1; q=0.9, application/json;q=0.8"));
	assert_true(pages_prefers_html("text/html;q=0.001"));
	assert_true(pages_prefers_html("text/html;Q=1.000"));
}

TEST_CASE(programs_get_a_problem)
{
	assert_false(pages_prefers_html(NULL));
	assert_false(pages_prefers_html(""));
	assert_false(pages_prefers_html("*/*"));
	assert_false(pages_prefers_html("application/json"));
	assert_false(pages_prefers_html("application/problem+json, text/html;q=0.5"));
	assert_false(pages_prefers_html("text/html;q=0"));
	assert_false(pages_prefers_html("text/htmlish"));
	assert_false(pages_prefers_html(", ,,"));
	assert_false(pages_prefers_html("*/*;q=0.5"));
	assert_false(pages_prefers_html("text/html;q=0, text/*"));
	assert_false(pages_prefers_html("text/html;q=0.000"));
	assert_false(pages_prefers_html("text/plain"));
	assert_false(pages_prefers_html("image/avif,image/webp,*/*;q=0.8"));
}

/* A malformed weight is ignored, so the range has the weight 1. */
TEST_CASE(ignores_a_malformed_weight)
{
	const char *const weights[] = { "", "x", "nan", "-1", "0x0", "2", "0.0000", "1e-9", ".5" };
	for (size_t i = 0; i < sizeof(weights) / sizeof(weights[0]); i++) {
		char accept[64];
		snprintf(accept, sizeof(accept), "application/json;q=0.9, text/html;q=%s",
		         weights[i]);
		if (!pages_prefers_html(accept))
			fail_msg("%s", accept);
	}
}

#define START_REQUEST "GET / HTTP/1.1\r\nHost: a\r\nAccept: text/html\r\n\r\n"

/* The handler of the fixture has no context of its own. */
static const struct pages *the_pages;

static enum http_progress respond_with_own_page(struct http_exchange *x)
{
	struct page page;
	page_begin(&page, pages_site(the_pages), page_language(pages_site(the_pages), x));
	page_begin_body(&page, HTTP_PAGE_EYE, "preview", "<b> & \"c\"", 0);
	page_end(&page, PAGE_NO_REPORT);
	return page_respond(&page, x, 200, PAGE_WITH_FORM);
}

/* The path chooses the status: "/404" is answered with the page of 404. */
static enum http_progress respond_with_status_of_path(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	if (strcmp(http_exchange_path(x), "/") == 0)
		return pages_respond_start(the_pages, x);
	if (strcmp(http_exchange_path(x), "/favicon.ico") == 0)
		return pages_respond_favicon(x);
	if (strcmp(http_exchange_path(x), "/used_up") == 0)
		return pages_respond_reason(the_pages, x, "used_up", "A detail.");
	if (strcmp(http_exchange_path(x), "/own") == 0)
		return respond_with_own_page(x);
	return pages_respond_error(
		the_pages, x, (unsigned)strtoul(http_exchange_path(x) + 1, NULL, 10), "A detail.");
}

struct fixture {
	struct http_fixture server;
	struct http_fixture_response answer;
	struct page_texts *texts;
	struct pages *plain;
	/* Or NULL; the server may still be sending one of its pages. */
	struct pages *named;
};

static void get_status_page(struct fixture *f, unsigned status, const char *accept)
{
	char request[256];
	snprintf(request, sizeof(request), "GET /%u HTTP/1.1\r\nHost: a\r\nAccept: %s\r\n\r\n",
	         status, accept);
	http_fixture_request(&f->server, request, &f->answer);
	assert_int_equal(f->answer.status, status);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct strbuf problems;
	strbuf_init(&problems, 1000);
	assert_int_equal(page_texts_read("", &problems, &f->texts), OK);
	strbuf_clear(&problems);
	f->plain = pages_new(&(struct page_site){ .texts = f->texts,
	                                          .public_base_url = "https://sho.rt",
	                                          .dashboard_url = "",
	                                          .operator_name = "",
	                                          .operator_contact = "" });
	the_pages = f->plain;
	http_fixture_start(&f->server, http_fixture_config(), respond_with_status_of_path);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	http_fixture_stop(&f->server, 1000);
	pages_free(f->plain);
	pages_free(f->named);
	page_texts_free(f->texts);
	free(f);
	return 0;
}

TEST_CASE(every_status_that_visitors_see_has_a_complete_page)
{
	struct fixture *f = *state;
	const unsigned statuses[] = { 400, 404, 405, 408, 410, 411, 413,
		                      414, 429, 431, 451, 500, 503 };
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		char value[256];
		get_status_page(f, statuses[i], "text/html");
		assert_string_equal(
			http_fixture_header(&f->answer, "Content-Type", value, sizeof(value)),
			"text/html; charset=utf-8");
		assert_non_null(strstr(f->answer.body, "<!doctype html>"));
		assert_non_null(strstr(f->answer.body, "<html lang=\"en\">"));
		assert_non_null(strstr(f->answer.body, "<title>"));
		assert_non_null(strstr(f->answer.body, "</html>"));
		/* no external resources */
		assert_null(strstr(f->answer.body, "://"));
		assert_null(strstr(f->answer.body, "<script"));
		assert_non_null(strstr(f->answer.body,
		                       "<meta name=\"viewport\" content=\"width=device-width"));
		assert_int_equal(http_fixture_count(f->answer.body, "<h1>"), 1);
		snprintf(value, sizeof(value), ">Error %u<", statuses[i]);
		assert_non_null(strstr(f->answer.body, value));
	}
}

TEST_CASE(errors_are_neither_cached_nor_indexed)
{
	struct fixture *f = *state;
	const char *const accepts[] = { "text/html", "*/*" };
	for (size_t i = 0; i < 2; i++) {
		char value[256];
		get_status_page(f, 404, accepts[i]);
		assert_string_equal(
			http_fixture_header(&f->answer, "Cache-Control", value, sizeof(value)),
			"no-store");
		assert_string_equal(
			http_fixture_header(&f->answer, "X-Robots-Tag", value, sizeof(value)),
			"noindex, nofollow");
		assert_string_equal(http_fixture_header(&f->answer, "Vary", value, sizeof(value)),
		                    "Accept, Accept-Language");
	}
}

TEST_CASE(the_policy_allows_only_its_own_style)
{
	struct fixture *f = *state;
	char policy[256];
	get_status_page(f, 404, "text/html");
	http_fixture_header(&f->answer, "Content-Security-Policy", policy, sizeof(policy));
	assert_string_equal(
		policy, "default-src 'none'; style-src '" HTTP_PAGE_STYLE_HASH
			"'; img-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
			"frame-ancestors 'none'");
	assert_int_equal(http_fixture_count(f->answer.body, "<style>"), 1);
	assert_null(strstr(f->answer.body, "style=\""));
}

TEST_CASE(echoes_nothing_of_the_request)
{
	struct fixture *f = *state;
	char plain[sizeof(f->answer.body)];
	get_status_page(f, 404, "text/html");
	memcpy(plain, f->answer.body, sizeof(plain));
	http_fixture_request(
		&f->server,
		"GET /404/<script>alert(1)</script>?<b> HTTP/1.1\r\nHost: evil.example\r\nAccept: text/html\r\n"
		"X-Request-Id: chosen-by-me-1234\r\nReferer: <i>\r\nUser-Agent: <u>\r\n\r\n",
		&f->answer);
	assert_int_equal(f->answer.status, 404);
	assert_string_equal(f->answer.body, plain);
}

TEST_CASE(head_gets_the_length_without_the_page)
{
	struct fixture *f = *state;
	const char *const accepts[] = { "text/html", "*/*" };
	for (size_t i = 0; i < 2; i++) {
		char request[256], answer[8192], length[64];
		get_status_page(f, 404, accepts[i]);
		snprintf(length, sizeof(length), "\r\nContent-Length: %zu\r\n", f->answer.body_len);
		snprintf(request, sizeof(request),
		         "HEAD /404 HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAccept: %s\r\n\r\n",
		         accepts[i]);
		int fd = http_fixture_connect(&f->server);
		assert_true(http_fixture_send_text(fd, request));
		assert_true(http_fixture_read_to_end(fd, answer, sizeof(answer),
		                                     HTTP_FIXTURE_DEADLINE_MS));
		close(fd);
		assert_non_null(strstr(answer, length));
		assert_string_equal(strstr(answer, "\r\n\r\n"), "\r\n\r\n");
	}
}

/* A header may be split into several lines (RFC 9110, 5.3). */
TEST_CASE(reads_all_lines_of_accept)
{
	struct fixture *f = *state;
	char value[64];
	get_status_page(f, 404, "image/png\r\nAccept: text/html");
	http_fixture_header(&f->answer, "Content-Type", value, sizeof(value));
	assert_string_equal(value, "text/html; charset=utf-8");
}

TEST_CASE(programs_and_statuses_without_a_page_get_a_problem)
{
	struct fixture *f = *state;
	char value[256];
	get_status_page(f, 410, "application/json");
	assert_string_equal(http_fixture_header(&f->answer, "Content-Type", value, sizeof(value)),
	                    "application/problem+json");
	assert_non_null(strstr(f->answer.body, "\"status\":410"));
	assert_non_null(strstr(f->answer.body, "A detail."));
	get_status_page(f, 418, "text/html");
	assert_string_equal(http_fixture_header(&f->answer, "Content-Type", value, sizeof(value)),
	                    "application/problem+json");
}

TEST_CASE(a_reason_has_a_page_of_its_own_and_the_status_that_belongs_to_it)
{
	struct fixture *f = *state;
	http_fixture_request(&f->server,
	                     "GET /used_up HTTP/1.1\r\nHost: a\r\nAccept: text/html\r\n\r\n",
	                     &f->answer);
	assert_int_equal(f->answer.status, 410);
	assert_non_null(strstr(f->answer.body, "<h1>This link has been used up</h1>"));
	http_fixture_request(&f->server, "GET /used_up HTTP/1.1\r\nHost: a\r\n\r\n", &f->answer);
	assert_int_equal(f->answer.status, 410);
	assert_non_null(strstr(f->answer.body, "A detail."));
}

/* What a link's owner wrote appears in it as text only. */
TEST_CASE(a_page_with_content_of_its_own_escapes_it)
{
	struct fixture *f = *state;
	char value[512];
	http_fixture_request(&f->server,
	                     "GET /own HTTP/1.1\r\nHost: a\r\nAccept-Language: de\r\n\r\n",
	                     &f->answer);
	assert_int_equal(f->answer.status, 200);
	assert_non_null(strstr(f->answer.body, "<html lang=\"de\">"));
	assert_non_null(strstr(f->answer.body, "<h1>&lt;b&gt; &amp; &quot;c&quot;</h1>"));
	/* It would forbid the redirects behind the form. */
	assert_null(strstr(
		http_fixture_header(&f->answer, "Content-Security-Policy", value, sizeof(value)),
		"form-action"));
	assert_string_equal(http_fixture_header(&f->answer, "Cache-Control", value, sizeof(value)),
	                    "no-store");
}

TEST_CASE(pages_are_in_the_visitors_language)
{
	struct fixture *f = *state;
	char value[64];
	get_status_page(f, 404, "text/html\r\nAccept-Language: it, de-AT;q=0.9, en;q=0.8");
	assert_non_null(strstr(f->answer.body, "<html lang=\"de\">"));
	assert_non_null(strstr(f->answer.body, "Diesen Link gibt es nicht"));
	assert_non_null(strstr(f->answer.body, ">Fehler 404<"));
	assert_string_equal(
		http_fixture_header(&f->answer, "Content-Language", value, sizeof(value)), "de");
	get_status_page(f, 404, "text/html\r\nAccept-Language: it");
	assert_non_null(strstr(f->answer.body, "<html lang=\"en\">"));
}

TEST_CASE(says_only_what_is_known_of_a_link_that_cannot_be_checked)
{
	struct fixture *f = *state;
	get_status_page(f, 503, "text/html");
	assert_non_null(strstr(f->answer.body, "We can't check this link right now"));
	assert_null(strstr(f->answer.body, "fine"));
	assert_non_null(strstr(f->answer.body, "<a class=\"button\" href=\"\">Try again</a>"));
}

TEST_CASE(names_the_operator_and_the_dashboard)
{
	struct fixture *f = *state;
	get_status_page(f, 404, "text/html");
	assert_null(strstr(f->answer.body, "<footer>"));
	f->named = pages_new(&(struct page_site){ .texts = f->texts,
	                                          .public_base_url = "https://sho.rt",
	                                          .dashboard_url = "https://api.sho.rt/app/",
	                                          .operator_name = "A & <B>",
	                                          .operator_contact = "a@b.example" });
	the_pages = f->named;
	get_status_page(f, 404, "text/html");
	assert_non_null(strstr(
		f->answer.body,
		"<footer><span>Operated by A &amp; &lt;B&gt;.</span> <a href=\"mailto:a@b.example\">Contact</a> "
		"<a href=\"https://api.sho.rt/report?link=https://sho.rt/404\">Report abuse</a></footer>"));
	assert_null(strstr(f->answer.body, "api.sho.rt/app/"));
	http_fixture_request(
		&f->server,
		"GET /404%22%3E/<b>?x=<i> HTTP/1.1\r\nHost: a\r\nAccept: text/html\r\n\r\n",
		&f->answer);
	assert_non_null(strstr(f->answer.body, "<a href=\"https://api.sho.rt/report"));
	assert_null(strstr(f->answer.body, "<b>"));
	assert_null(strstr(f->answer.body, "<i>"));
	/* What is blocked already needs no report. */
	for (size_t i = 0; i < 2; i++) {
		get_status_page(f, (unsigned[]){ 429, 451 }[i], "text/html");
		assert_null(strstr(f->answer.body, "api.sho.rt"));
	}
	http_fixture_request(&f->server, START_REQUEST, &f->answer);
	the_pages = f->plain;
	assert_non_null(strstr(
		f->answer.body,
		"<a class=\"button\" href=\"https://api.sho.rt/app/\">Manage short links</a>\n</main>\n<footer>"));
	assert_non_null(strstr(f->answer.body, "<a href=\"https://api.sho.rt/report\">"));
}

TEST_CASE(has_a_start_page_and_an_icon)
{
	struct fixture *f = *state;
	char value[64];
	http_fixture_request(&f->server, START_REQUEST, &f->answer);
	assert_int_equal(f->answer.status, 200);
	assert_non_null(strstr(f->answer.body, "sho.rt shortens links."));
	assert_non_null(strstr(f->answer.body, "<span>sho.rt</span></a></header>"));
	assert_null(strstr(f->answer.body, "class=\"button\""));
	assert_null(strstr(f->answer.body, "class=\"status\""));
	http_fixture_request(&f->server, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", &f->answer);
	assert_string_equal(
		f->answer.body,
		"This is Waymark, a URL shortener. Short links begin with https://sho.rt/.\n");
	http_fixture_request(&f->server, "GET /favicon.ico HTTP/1.1\r\nHost: a\r\n\r\n",
	                     &f->answer);
	assert_string_equal(http_fixture_header(&f->answer, "Content-Type", value, sizeof(value)),
	                    "image/svg+xml");
	assert_non_null(strstr(f->answer.body, "<svg "));
}

TEST_MAIN(.group_set_up = set_up, .group_tear_down = tear_down)
