#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "services/redirector/events/click.h"
#include "tests/support/test.h"
#include "tests/unit/http/http_fixture.h"

TEST_CASE(recognises_the_prefetch_headers_of_browsers)
{
	assert_true(click_is_prefetch("prefetch", NULL, NULL));
	assert_true(click_is_prefetch("prefetch;prerender", NULL, NULL));
	assert_true(click_is_prefetch("Prefetch; anonymous-client-ip", NULL, NULL));
	assert_true(click_is_prefetch(NULL, "prefetch", NULL));
	assert_true(click_is_prefetch(NULL, "preview", NULL));
	assert_true(click_is_prefetch(NULL, NULL, "prefetch"));
}

TEST_CASE(recognises_nothing_else_as_a_prefetch)
{
	assert_false(click_is_prefetch(NULL, NULL, NULL));
	assert_false(click_is_prefetch("", "", ""));
	assert_false(click_is_prefetch("prerender", NULL, NULL));
	assert_false(click_is_prefetch("prefetching", NULL, NULL));
	assert_false(click_is_prefetch(NULL, "navigate", NULL));
	assert_false(click_is_prefetch(NULL, NULL, "preview"));
}

struct fixture {
	struct http_fixture server;
	struct http_fixture_response answer;
	struct client_ip_ranges trusted;
	struct client_ip visitor, counted;
	struct redirect_event event;
};

/* ctx is the http_fixture, which is the first member of struct fixture. */
static enum http_progress describe_the_visitor(void *ctx, struct http_exchange *x)
{
	struct fixture *f = ctx;
	f->visitor = http_exchange_client_ip(x);
	f->counted = click_counted_visitor(x);
	/* filled with a pattern that would show if a text were not terminated */
	memset(&f->event, 0x5a, sizeof(f->event));
	struct client_ip unknown = { 0 };
	click_describe(x, &unknown, NULL, &f->event);
	return HTTP_COMPLETE;
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct http_server_config config = http_fixture_config();
	config.trusted = &f->trusted;
	http_fixture_start(&f->server, config, describe_the_visitor);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	http_fixture_stop(&f->server, 1000);
	free(f);
	return 0;
}

static void send(struct fixture *f, const char *method, const char *target, const char *headers)
{
	char *request = NULL;
	assert_true(asprintf(&request, "%s %s HTTP/1.1\r\nHost: sho.rt\r\n%s\r\n", method, target,
	                     headers) > 0);
	http_fixture_request(&f->server, request, &f->answer);
	free(request);
	assert_int_equal(f->answer.status, 200);
}

static void get(struct fixture *f, const char *target, const char *headers)
{
	send(f, "GET", target, headers);
}

/* Limits do not know the visitor, statistics do: curl beside a local stack. */
TEST_CASE(counts_a_program_on_this_machine_that_names_no_visitor)
{
	struct fixture *f = *state;
	char shown[CLIENT_IP_TEXT_SIZE];
	assert_int_equal(client_ip_ranges_parse("127.0.0.0/8", &f->trusted), OK);
	get(f, "/a", "");
	assert_false(f->visitor.known);
	client_ip_format(&f->counted, shown);
	assert_string_equal(shown, "127.0.0.1");
	get(f, "/a", "X-Forwarded-For: 203.0.113.7\r\n");
	client_ip_format(&f->counted, shown);
	assert_string_equal(shown, "203.0.113.7");
	get(f, "/a", "X-Forwarded-For: unknown\r\n");
	assert_false(f->counted.known);
	get(f, "/a", "X-Forwarded-For:\r\n");
	assert_false(f->counted.known);
	f->trusted.count = 0;
	get(f, "/a", "");
	client_ip_format(&f->counted, shown);
	assert_string_equal(shown, "127.0.0.1");
}

TEST_CASE(copies_the_headers_of_the_visitor)
{
	struct fixture *f = *state;
	get(f, "/a?utm_source=x%20y&z",
	    "User-Agent: Firefox\r\nReferer: https://news.example/\r\n"
	    "Accept-Language: de-DE,de;q=0.8\r\nSec-Purpose: prefetch\r\n");
	assert_string_equal(f->event.user_agent, "Firefox");
	assert_string_equal(f->event.referrer, "https://news.example/");
	assert_string_equal(f->event.accept_language, "de-DE,de;q=0.8");
	assert_string_equal(f->event.host, "sho.rt");
	assert_string_equal(f->event.query, "utm_source=x+y");
	assert_true(f->event.prefetch);
	assert_int_equal(f->event.method, REDIRECT_METHOD_GET);
}

TEST_CASE(names_the_method)
{
	struct fixture *f = *state;
	static const struct {
		const char *name;
		enum redirect_method method;
	} methods[] = {
		{ "GET", REDIRECT_METHOD_GET },         { "HEAD", REDIRECT_METHOD_HEAD },
		{ "POST", REDIRECT_METHOD_POST },       { "PUT", REDIRECT_METHOD_PUT },
		{ "PATCH", REDIRECT_METHOD_PATCH },     { "DELETE", REDIRECT_METHOD_DELETE },
		{ "OPTIONS", REDIRECT_METHOD_OPTIONS }, { "PROPFIND", REDIRECT_METHOD_OTHER },
		{ "get", REDIRECT_METHOD_OTHER },
	};
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		send(f, methods[i].name, "/a", "");
		assert_int_equal(f->event.method, methods[i].method);
	}
}

TEST_CASE(takes_a_campaign_that_stands_behind_the_slug)
{
	struct fixture *f = *state;
	get(f, "/a&utm_source=x&b=1", "");
	assert_string_equal(f->event.query, "utm_source=x");
	get(f, "/a.%3Futm_medium=m%20n", "");
	assert_string_equal(f->event.query, "utm_medium=m+n");
	get(f, "/a&amp;utm_source=x?fbclid=1", "");
	assert_string_equal(f->event.query, "utm_source=x");
	get(f, "/a&utm_source=x?utm_source=y", "");
	assert_string_equal(f->event.query, "utm_source=y");
	get(f, "/a/b&utm_source=x", "");
	assert_string_equal(f->event.query, "");
}

TEST_CASE(leaves_missing_headers_empty)
{
	struct fixture *f = *state;
	get(f, "/a", "");
	assert_string_equal(f->event.user_agent, "");
	assert_string_equal(f->event.referrer, "");
	assert_string_equal(f->event.accept_language, "");
	assert_string_equal(f->event.query, "");
	assert_string_equal(f->event.client_network, "");
	assert_string_equal(f->event.rule, "");
	assert_string_equal(f->event.variant, "");
	assert_string_equal(f->event.alias, "");
	assert_false(f->event.prefetch);
	assert_false(f->event.is_scan);
	assert_false(f->event.has_visitor_hash);
}

TEST_CASE(truncates_long_headers_and_sanitises_invalid_text)
{
	struct fixture *f = *state;
	char headers[2048];
	char agent[1001] = { 0 };
	memset(agent, 'a', sizeof(agent) - 1);
	snprintf(headers, sizeof(headers), "User-Agent: %s\r\nReferer: https://a/\xff\xe9\r\n",
	         agent);
	get(f, "/a", headers);
	assert_int_equal(strlen(f->event.user_agent), REDIRECT_EVENT_USER_AGENT_MAX);
	assert_string_equal(f->event.referrer, "https://a/??");
}

TEST_CASE(keeps_only_the_campaign_of_the_query_and_the_page_of_the_referrer)
{
	struct fixture *f = *state;
	get(f,
	    "/a?token=s3cret&utm_medium=m%26m%25&code=s3cret&utm_source=%C3%BC%2B1&utm_term=s3cret",
	    "Referer: https://s3cret:s3cret@news.example/today;s3cret?token=s3cret#s3cret\r\n");
	assert_string_equal(f->event.query, "utm_source=\xc3\xbc%2B1&utm_medium=m%26m%25");
	assert_string_equal(f->event.referrer, "https://news.example/today");
	get(f, "/a?utm_source=%zz&utm_medium=&utm_campaign=c", "Referer: s3cret\r\n");
	assert_string_equal(f->event.query, "utm_medium=&utm_campaign=c");
	assert_string_equal(f->event.referrer, "");
}

TEST_CASE(takes_each_parameter_that_the_visitor_lacks_from_the_destination)
{
	static const struct {
		const char *target, *destination, *query;
	} cases[] = {
		{ "/a", "https://x.example/?utm_source=d&b=1&utm_campaign=e%20f#utm_medium=g",
		  "utm_source=d&utm_campaign=e+f" },
		{ "/a?utm_source=v", "https://x.example/p?utm_source=d&utm_medium=e",
		  "utm_source=v&utm_medium=e" },
		{ "/a?utm_source=", "https://x.example/?utm_source=d", "utm_source=" },
		{ "/a?utm_source=%zz", "https://x.example/?utm_source=d", "utm_source=d" },
		{ "/a&utm_source=v", "https://x.example/?utm_source=d", "utm_source=v" },
		{ "/a", "https://x.example/?my_utm_source=d&utm_sourced=e", "" },
		{ "/a", "https://x.example/utm_source=d", "" },
		{ "/a", "https://x.example/#?utm_source=d", "" },
		{ "/a?b=c", "https://x.example/", "" },
	};
	struct fixture *f = *state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		get(f, cases[i].target, "");
		click_add_campaign(cases[i].destination, &f->event);
		assert_string_equal(f->event.query, cases[i].query);
	}
}

TEST_CASE(tells_scans_of_a_qr_code_apart)
{
	static const char *const scans[] = { "/a?qr=1", "/a?b=2&qr=1", "/a?qr=1&utm_source=x",
		                             "/a&qr=1" };
	static const char *const others[] = { "/a",      "/a?qr=",    "/a?qr",
		                              "/a?qr=2", "/a?qr=11",  "/a?aqr=1",
		                              "/a?QR=1", "/a?x=qr=1", "/a?qr%3D1" };
	struct fixture *f = *state;
	for (size_t i = 0; i < sizeof(scans) / sizeof(scans[0]); i++) {
		get(f, scans[i], "");
		assert_true(f->event.is_scan);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		get(f, others[i], "");
		assert_false(f->event.is_scan);
	}
}

TEST_CASE(the_longest_campaign_fits_into_its_event)
{
	struct fixture *f = *state;
	char value[3 * 130 + 1] = "";
	char target[4 * sizeof(value)];
	for (size_t i = 0; i < 130; i++)
		memcpy(value + 3 * i, "%25", 4);
	snprintf(target, sizeof(target), "/a?utm_source=%s&utm_medium=%s&utm_campaign=%s", value,
	         value, value);
	get(f, target, "");
	assert_int_equal(strlen(f->event.query),
	                 strlen("utm_source=&utm_medium=&utm_campaign=") + (size_t)3 * 3 * 127);
}

TEST_MAIN(.group_set_up = set_up, .group_tear_down = tear_down)
