#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/password.h"
#include "services/redirector/gate/link_cookie.h"
#include "services/redirector/gate/link_gate.h"
#include "services/redirector/gate/password_checker.h"
#include "services/redirector/pages/page.h"
#include "services/redirector/pages/pages.h"
#include "tests/support/clock_fake.h"
#include "tests/support/test.h"
#include "tests/unit/http/http_fixture.h"

#define LINK 7
#define PASSWORD "open sesame"
#define FORM "Content-Type: application/x-www-form-urlencoded\r\n"
/* "any:open sesame", ":wrong" */
#define RIGHT_HEADER "Authorization: Basic YW55Om9wZW4gc2VzYW1l\r\n"
#define WRONG_HEADER "Authorization: Basic Ondyb25n\r\n"

struct fixture {
	/* First: it is the context of the handler. */
	struct http_fixture server;
	struct http_fixture_response answer;
	struct clock_fake clock;
	struct page_texts *texts;
	struct pages *pages;
	struct metrics *metrics;
	struct link_gate *gate;
	struct client_ip_ranges trusted;
	char hash[PASSWORD_HASH_SIZE];
	char value[1024];
};

/* Of a link behind the gate: 302, or 204 for a path that is not a link. */
static void let_in(struct http_exchange *x)
{
	http_exchange_set_status(x, 302);
	http_exchange_add_fixed_header(x, "Location", "https://example.com/");
}

static void on_password(void *ctx, struct http_exchange *x, enum link_gate_result result)
{
	(void)ctx;
	if (result == LINK_GATE_OPEN)
		let_in(x);
	http_exchange_resume(x);
}

static enum http_progress handle(void *ctx, struct http_exchange *x)
{
	struct fixture *f = ctx;
	switch (link_gate_check_password(f->gate, x, LINK, f->hash, on_password, f)) {
	case LINK_GATE_OPEN:
		let_in(x);
		break;
	case LINK_GATE_PENDING:
		return HTTP_PENDING;
	case LINK_GATE_ANSWERED:
		break;
	}
	return HTTP_COMPLETE;
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct strbuf problems;
	strbuf_init(&problems, 1000);
	assert_int_equal(page_texts_read("", &problems, &f->texts), OK);
	strbuf_clear(&problems);
	f->pages = pages_new(&(struct page_site){ .texts = f->texts,
	                                          .public_base_url = "https://sho.rt",
	                                          .dashboard_url = "",
	                                          .operator_name = "Example Ltd",
	                                          .operator_contact = "" });
	clock_fake_init(&f->clock, INT64_C(1767225600) * CLOCK_US_PER_S);
	f->metrics = metrics_new();
	f->gate = link_gate_new(&(struct link_gate_config){
		.pages = f->pages, .clock = &f->clock.clock, .metrics = f->metrics });
	assert_int_equal(password_hash(PASSWORD, PASSWORD_COST_MIN, f->hash), OK);
	assert_int_equal(client_ip_ranges_parse("127.0.0.0/8, ::1", &f->trusted), OK);
	struct http_server_config config = http_fixture_config();
	config.answers_unread = config.needs_length = true;
	config.body_limit = link_gate_body_limit;
	config.trusted = &f->trusted;
	http_fixture_start(&f->server, config, handle);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	http_fixture_stop(&f->server, 1000);
	link_gate_free(f->gate);
	metrics_free(f->metrics);
	pages_free(f->pages);
	page_texts_free(f->texts);
	free(f);
	return 0;
}

/* A request from a network. headers: each line ends in CRLF. */
static unsigned request(struct fixture *f, const char *line, const char *network,
                        const char *headers, const char *body)
{
	char text[4096], length[64] = "";
	if (body)
		snprintf(length, sizeof(length), "Content-Length: %zu\r\n", strlen(body));
	int len = snprintf(text, sizeof(text),
	                   "%s HTTP/1.1\r\nHost: sho.rt\r\nX-Forwarded-For: %s\r\n%s%s\r\n%s", line,
	                   network, headers, length, body ? body : "");
	assert_true(len > 0 && (size_t)len < sizeof(text));
	http_fixture_request(&f->server, text, &f->answer);
	return f->answer.status;
}

static unsigned post(struct fixture *f, const char *body)
{
	return request(f, "POST /abc", "192.0.2.1", "Accept: text/html\r\n" FORM, body);
}

static const char *header(struct fixture *f, const char *name)
{
	return http_fixture_header(&f->answer, name, f->value, sizeof(f->value));
}

static void cookie_line(struct fixture *f, char out[static 128], int64_t lifetime_s)
{
	char value[LINK_COOKIE_SIZE];
	link_cookie_make(LINK, f->hash, clock_now_us(&f->clock.clock) / CLOCK_US_PER_S + lifetime_s,
	                 value);
	snprintf(out, 128, "Cookie: a=b; waymark_link=%s; c=d\r\n", value);
}

TEST_CASE(a_browser_is_asked_by_a_page)
{
	struct fixture *f = *state;
	assert_int_equal(request(f, "GET /abc", "192.0.2.1",
	                         "Accept: text/html\r\nAccept-Language: de\r\n", NULL),
	                 200);
	assert_non_null(strstr(f->answer.body, "<html lang=\"de\">"));
	assert_non_null(strstr(f->answer.body, "<form method=\"post\">"));
	assert_non_null(strstr(f->answer.body, "type=\"password\""));
	assert_non_null(strstr(f->answer.body, "Example Ltd"));
	assert_null(strstr(f->answer.body, "<script"));
	assert_null(strstr(f->answer.body, "role=\"alert\""));
	assert_string_equal(header(f, "Cache-Control"), "no-store");
	assert_string_equal(header(f, "X-Robots-Tag"), "noindex, nofollow");
	assert_string_equal(header(f, "Location"), "");
	assert_string_equal(header(f, "Set-Cookie"), "");
}

TEST_CASE(a_program_is_told_how_to_send_the_password)
{
	struct fixture *f = *state;
	assert_int_equal(request(f, "GET /abc", "192.0.2.1", "", NULL), 401);
	assert_string_equal(header(f, "WWW-Authenticate"),
	                    "Basic realm=\"link\", charset=\"UTF-8\"");
	assert_string_equal(header(f, "Cache-Control"), "no-store");
	assert_non_null(strstr(f->answer.body, "Authorization: Basic"));
	assert_int_equal(request(f, "GET /abc", "192.0.2.1", RIGHT_HEADER, NULL), 302);
	assert_int_equal(request(f, "GET /abc", "192.0.2.1", WRONG_HEADER, NULL), 401);
	assert_int_equal(request(f, "GET /abc", "192.0.2.1", "Authorization: Bearer x\r\n", NULL),
	                 401);
}

TEST_CASE(the_right_password_leads_to_the_link_itself_with_a_cookie)
{
	struct fixture *f = *state;
	const char *const prefix = "waymark_link=1767229200.";
	assert_int_equal(post(f, "password=open+sesame"), 303);
	assert_string_equal(header(f, "Location"), "/abc");
	assert_string_equal(header(f, "Cache-Control"), "no-store");
	assert_memory_equal(header(f, "Set-Cookie"), prefix, strlen(prefix));
	assert_string_equal(strchr(f->value, ';'),
	                    "; Max-Age=3600; Path=/abc; HttpOnly; SameSite=Lax; Secure");
	char cookie[1100];
	*strchr(f->value, ';') = '\0';
	snprintf(cookie, sizeof(cookie), "Accept: text/html\r\nCookie: %s\r\n", f->value);
	assert_int_equal(request(f, "GET /abc", "192.0.2.1", cookie, NULL), 302);
	/* The form is never answered with the redirect of the link. */
	assert_int_equal(request(f, "POST /abc", "192.0.2.1", cookie, ""), 403);
}

/* Nothing in an address leads elsewhere, or ends the cookie's path. */
TEST_CASE(the_address_behind_the_form_is_the_links_own)
{
	struct fixture *f = *state;
	static const char *const cases[][3] = {
		{ "POST /abc?x=1&y=%20", "/abc?x=1&y=%20", "Path=/abc;" },
		{ "POST //evil.example?x", "/evil.example?x", "Path=/evil.example;" },
		{ "POST ///evil.example/", "/evil.example/", "Path=/evil.example;" },
		{ "POST /r/abc", "/r/abc", "Path=/r/abc;" },
		{ "POST /r//abc/a/b?c", "/r//abc/a/b?c", "Path=/r//abc;" },
		{ "POST /go/docs//x", "/go/docs//x", "Path=/go;" },
		{ "POST /abc;Domain=evil.example", "/abc", "Path=/abc;" },
		{ "POST /abc)", "/abc", "Path=/abc;" },
		{ "POST /sp%72ing.", "/sp%72ing.", "Path=/sp%72ing.;" },
		{ "POST /abc?//evil.example", "/abc?//evil.example", "Path=/abc;" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(request(f, cases[i][0], "192.0.2.1", "Accept: text/html\r\n" FORM,
		                         "password=open+sesame"),
		                 303);
		assert_string_equal(header(f, "Location"), cases[i][1]);
		assert_non_null(strstr(header(f, "Set-Cookie"), cases[i][2]));
	}
}

TEST_CASE(what_is_not_the_password_is_refused)
{
	struct fixture *f = *state;
	char large[1200];
	snprintf(large, sizeof(large), "password=open+sesame&x=%01100d", 0);
	static const char *const bodies[] = {
		"password=wrong",
		"password=",
		"passwort=open+sesame",
		"password=open+sesam",
		"password=open+sesame+",
		"Password=open+sesame",
		"password=open%00sesame",
		"password=open+sesame%00",
		"",
		"password=%ff",
		"open sesame",
	};
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		char network[32];
		snprintf(network, sizeof(network), "198.51.%zu.1", i);
		assert_int_equal(
			request(f, "POST /abc", network, "Accept: text/html\r\n" FORM, bodies[i]),
			403);
		assert_non_null(strstr(f->answer.body, "role=\"alert\""));
		assert_string_equal(header(f, "Set-Cookie"), "");
		assert_string_equal(header(f, "Location"), "");
	}
	/* Bodies that are too large or of another type are not read. */
	assert_int_equal(post(f, large), 403);
	assert_int_equal(request(f, "POST /abc", "192.0.2.1",
	                         "Accept: text/html\r\nContent-Type: text/plain\r\n",
	                         "password=open+sesame"),
	                 403);
	/* Another site spends none of the visitor's tries. */
	for (int i = 0; i < 2 * PASSWORD_CHECKER_WRONG_MAX; i++)
		assert_int_equal(request(f, "POST /abc", "192.0.2.1",
		                         "Sec-Fetch-Site: cross-site\r\n" FORM, "password=wrong"),
		                 401);
	assert_int_equal(request(f, "POST /abc", "192.0.2.1",
	                         "Sec-Fetch-Site: same-origin\r\n" FORM, "password=open+sesame"),
	                 303);
}

TEST_CASE(other_methods_are_refused)
{
	struct fixture *f = *state;
	static const char *const methods[] = { "PUT /abc", "DELETE /abc", "PATCH /abc",
		                               "OPTIONS /abc", "PROPFIND /abc" };
	char cookie[128];
	cookie_line(f, cookie, 60);
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		assert_int_equal(request(f, methods[i], "192.0.2.1", cookie, NULL), 405);
		assert_string_equal(header(f, "Allow"), "GET, HEAD, POST");
	}
}

TEST_CASE(a_cookie_opens_until_it_ends)
{
	struct fixture *f = *state;
	char cookie[128];
	cookie_line(f, cookie, 60);
	assert_int_equal(request(f, "GET /abc", "192.0.2.1", cookie, NULL), 302);
	clock_fake_advance(&f->clock, 59 * CLOCK_US_PER_S);
	assert_int_equal(request(f, "GET /abc", "192.0.2.1", cookie, NULL), 302);
	clock_fake_advance(&f->clock, CLOCK_US_PER_S);
	assert_int_equal(request(f, "GET /abc", "192.0.2.1", cookie, NULL), 401);
	/* The same password again is another one. */
	cookie_line(f, cookie, 60);
	assert_int_equal(password_hash(PASSWORD, PASSWORD_COST_MIN, f->hash), OK);
	assert_int_equal(request(f, "GET /abc", "192.0.2.1", cookie, NULL), 401);
}

TEST_CASE(a_network_that_guesses_must_wait_and_others_need_not)
{
	struct fixture *f = *state;
	for (int i = 0; i < PASSWORD_CHECKER_WRONG_MAX; i++)
		assert_int_equal(post(f, "password=wrong"), 403);
	assert_int_equal(post(f, "password=open+sesame"), 429);
	assert_string_equal(header(f, "Retry-After"), "12");
	assert_non_null(strstr(f->answer.body, "Too many wrong passwords"));
	assert_int_equal(request(f, "GET /abc", "192.0.2.9", RIGHT_HEADER, NULL), 429);
	assert_int_equal(request(f, "GET /abc", "192.0.3.1", RIGHT_HEADER, NULL), 302);
	/* Who was let in before stays in. */
	char cookie[128];
	cookie_line(f, cookie, 60);
	assert_int_equal(request(f, "GET /abc", "192.0.2.1", cookie, NULL), 302);
	clock_fake_advance(&f->clock, 12 * CLOCK_US_PER_S);
	assert_int_equal(post(f, "password=open+sesame"), 303);
}

TEST_MAIN(.set_up = set_up, .tear_down = tear_down)
