#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/integration/redirector/fixture.h"
#include "tests/support/test.h"
#include "tests/unit/http/framing.h"

TEST_CASE(redirects_with_the_links_status_and_headers_for_browsers_and_robots)
{
	struct fixture *f = *state;
	fixture_add_link(f, "moved");
	fixture_change_link(f, "moved", "redirect_status = 308");
	fixture_start(f);
	assert_int_equal(fixture_get_link(f, "moved", ""), 308);
	fixture_assert_header(f, "Location", "https://example.com/moved");
	fixture_assert_header(f, "Cache-Control", "private, no-store");
	fixture_assert_header(f, "X-Robots-Tag", "noindex, nofollow");
	fixture_assert_header(f, "Content-Length", "0");
}

TEST_CASE(serves_the_r_prefix_and_head)
{
	struct fixture *f = *state;
	char target[SLUG_SIZE + 16];
	char slug[SLUG_SIZE];
	fixture_add_link(f, "both");
	fixture_start(f);
	snprintf(target, sizeof(target), "GET /r/%s", fixture_slug(f, "both", slug));
	assert_int_equal(fixture_request(f, target, ""), 302);
	snprintf(target, sizeof(target), "HEAD /%s", slug);
	assert_int_equal(fixture_request(f, target, ""), 302);
	fixture_assert_header(f, "Location", "https://example.com/both");
	assert_int_equal(fixture_metric(f, "waymark_events_accepted_total"), 2);
}

/* RFC 3986, 6.2.2.2: an escaped unreserved character is the character. */
TEST_CASE(finds_a_link_by_equivalent_paths)
{
	struct fixture *f = *state;
	char target[128];
	char slug[SLUG_SIZE];
	fixture_add_link(f, "same");
	fixture_start(f);
	fixture_slug(f, "same", slug);
	const char *const prefixes[] = { "/", "/r/", "http://sho.rt/" };
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		snprintf(target, sizeof(target), "GET %s%s/", prefixes[i], slug);
		assert_int_equal(fixture_request(f, target, ""), 302);
	}
	snprintf(target, sizeof(target), "GET /%%%02X%s", (unsigned)slug[0], slug + 1);
	assert_int_equal(fixture_request(f, target, ""), 302);
	fixture_assert_header(f, "Location", "https://example.com/same");
}

TEST_CASE(sends_the_configured_cache_control)
{
	struct fixture *f = *state;
	snprintf(f->config.redirect_cache_control, sizeof(f->config.redirect_cache_control),
	         "max-age=60");
	fixture_add_link(f, "cached");
	fixture_start(f);
	fixture_get_link(f, "cached", "");
	fixture_assert_header(f, "Cache-Control", "max-age=60");
}

TEST_CASE(rejects_other_methods_of_its_own_paths_with_allow)
{
	struct fixture *f = *state;
	fixture_start(f);
	const char *const methods[] = { "POST /", "DELETE /favicon.ico", "OPTIONS /",
		                        "PUT /robots.txt" };
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		assert_int_equal(fixture_request(f, methods[i], ""), 405);
		fixture_assert_header(f, "Allow", "GET, HEAD");
	}
}

TEST_CASE(serves_robots_txt_and_a_text_at_the_root)
{
	struct fixture *f = *state;
	fixture_start(f);
	assert_int_equal(fixture_request(f, "GET /robots.txt", ""), 200);
	assert_string_equal(f->answer.body, "User-agent: *\nDisallow:\n");
	assert_int_equal(fixture_request(f, "GET /", ""), 200);
	assert_non_null(strstr(f->answer.body, "https://sho.rt/"));
}

TEST_CASE(redirects_the_root_if_configured_and_makes_no_event)
{
	struct fixture *f = *state;
	snprintf(f->config.root_url, sizeof(f->config.root_url), "https://example.com/home");
	fixture_start(f);
	assert_int_equal(fixture_request(f, "GET /", ""), 302);
	fixture_assert_header(f, "Location", "https://example.com/home");
	assert_int_equal(fixture_metric(f, "waymark_events_accepted_total"), 0);
}

static void assert_lookups(struct fixture *f, size_t wanted)
{
	const char *const levels[] = { "memory",       "redis", "postgres",
		                       "stale_memory", "none",  "bloom_filter" };
	double lookups = 0;
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		char series[64];
		snprintf(series, sizeof(series), "waymark_link_lookups_total{level=\"%s\"}",
		         levels[i]);
		lookups += fixture_metric(f, series);
	}
	assert_int_equal(lookups, wanted);
}

static void send_long(struct fixture *f, const char *line, const char *header, unsigned status)
{
	char request[24000];
	snprintf(request, sizeof(request), "%s HTTP/1.1\r\nHost: sho.rt\r\n%s\r\n", line, header);
	http_fixture_request(&f->server, request, &f->answer);
	assert_int_equal(f->answer.status, status);
}

TEST_CASE(an_invalid_slug_is_never_looked_up)
{
	struct fixture *f = *state;
	fixture_start(f);
	const char *const targets[] = {
		"/abc%00",    "/a%00b",    "/%00",        "/abc%",    "/%",
		"/ab%2fc",    "/r%2fabc",  "/%2e%2e/abc", "/../abc",  "/..",
		"/./abc",     "/r/../abc", "/.abc",       "//",       "/abc%E2%80%9Dd",
		"/abc%C3%A4", "/%2561bc",  "/%72%2fabc",  "/r/",      "/r/r/abc",
		"/R/abc",     "/abc;x",    "/\xc3\xa4",   "/abc\xff", "/a|b",
	};
	const char *const methods[] = { "GET", "HEAD" };
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		for (size_t m = 0; m < 2; m++) {
			char line[128];
			snprintf(line, sizeof(line), "%s %s", methods[m], targets[i]);
			if (fixture_request(f, line, "") != 404)
				fail_msg("%s is answered with %u", line, f->answer.status);
		}
	}
	assert_lookups(f, 0);
}

TEST_CASE(a_malformed_or_oversized_request_is_never_looked_up)
{
	struct fixture *f = *state;
	static const struct {
		const char *bytes;
		size_t len;
		unsigned status;
	} requests[] = {
#define REQUEST(bytes_, status_)                                                                   \
	{ .bytes = (bytes_), .len = sizeof(bytes_) - 1, .status = (status_) }
		REQUEST("GET /abc\0 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
		REQUEST("GET /\0abc HTTP/1.1\r\nHost: a\r\n\r\n", 400),
		REQUEST("GET /a\0bc HTTP/1.1\r\nHost: a\r\n\r\n", 400),
		REQUEST("GET /abc\t HTTP/1.1\r\nHost: a\r\n\r\n", 400),
		REQUEST("GET /a\x7f HTTP/1.1\r\nHost: a\r\n\r\n", 400),
		REQUEST("GET abc HTTP/1.1\r\nHost: a\r\n\r\n", 400),
		REQUEST("GET ../abc HTTP/1.1\r\nHost: a\r\n\r\n", 400),
#undef REQUEST
	};
	fixture_start(f);
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		int fd = http_fixture_connect(&f->server);
		assert_true(http_fixture_send(fd, requests[i].bytes, requests[i].len));
		http_fixture_read_response(fd, true, &f->answer);
		close(fd);
		/* libmicrohttpd 1.0 closes the connection at a NUL. */
		bool may_close = strlen(requests[i].bytes) < requests[i].len;
		if (f->answer.status != requests[i].status && !(may_close && f->answer.status == 0))
			fail_msg("request %zu is answered with %u", i, f->answer.status);
	}
	char line[12000] = "GET /";
	memset(line + 5, 'a', sizeof(line) - 6);
	send_long(f, line, "", 414);
	line[5 + 4096] = '\0';
	send_long(f, line, "", 414);
	char header[12000] = "X: ";
	memset(header + 3, 'a', sizeof(header) - 6);
	memcpy(header + sizeof(header) - 3, "\r\n", 3);
	send_long(f, "GET /abc", header, 431);
	assert_lookups(f, 0);
}

/* The smuggled requests name a link, so executing one would count as a lookup. */
TEST_CASE(executes_no_smuggled_request)
{
	struct fixture *f = *state;
	struct framing_report report;
	f->config.http_loops = 1;
	fixture_start(f);
	framing_send_bad(&f->server, true, 1, &report);
	print_message("%zu cases\n", report.cases);
	if (report.wrong > 0)
		fail_msg("%s", report.first_wrong);
	assert_int_equal(report.smuggled, 0);
	assert_int_equal(report.crashed, 0);
	assert_lookups(f, report.unread);
	assert_int_equal(fixture_metric(f, "waymark_events_accepted_total"), 0);
}

TEST_CASE(limits_an_address_that_guesses_but_not_its_neighbour)
{
	struct fixture *f = *state;
	f->config.unknown_slugs_per_minute = 3;
	fixture_slow_clock(f);
	fixture_add_link(f, "known");
	fixture_start(f);
	for (int i = 0; i < 3; i++) {
		char name[24];
		snprintf(name, sizeof(name), "guess%d", i);
		assert_int_equal(fixture_get_link(f, name, "X-Forwarded-For: 203.0.113.7\r\n"),
		                 404);
	}
	assert_int_equal(fixture_get_link(f, "guess9", "X-Forwarded-For: 203.0.113.7\r\n"), 429);
	fixture_assert_header(f, "Retry-After", "20");
	fixture_assert_header(f, "RateLimit", "\"unknown-slugs\";r=0;t=20");
	fixture_assert_header(f, "RateLimit-Policy", "\"unknown-slugs\";q=3;w=60");
	assert_int_equal(fixture_get_link(f, "guess9", "X-Forwarded-For: 203.0.113.8\r\n"), 404);
	assert_int_equal(fixture_get_link(f, "known", "X-Forwarded-For: 203.0.113.8\r\n"), 302);
}

/* Cold links: neither memory nor Redis knows them. */
TEST_CASE(a_limited_address_still_gets_every_link_that_exists)
{
	struct fixture *f = *state;
	f->config.unknown_slugs_per_minute = 1;
	static const char *const names[] = { "cold-1", "cold-2", "cold-3" };
	for (size_t i = 0; i < 3; i++)
		fixture_add_link(f, names[i]);
	fixture_start(f);
	assert_int_equal(fixture_get_link(f, "guess", "X-Forwarded-For: 203.0.113.7\r\n"), 404);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(fixture_get_link(f, "guess", "X-Forwarded-For: 203.0.113.7\r\n"),
		                 429);
		assert_int_equal(fixture_get_link(f, names[i], "X-Forwarded-For: 203.0.113.7\r\n"),
		                 302);
	}
}

TEST_CASE(limits_an_ipv6_site_that_guesses_from_many_networks)
{
	struct fixture *f = *state;
	f->config.unknown_slugs_per_minute = 2;
	fixture_slow_clock(f);
	fixture_start(f);
	unsigned limited = 0;
	for (unsigned i = 0; i < 20; i++) {
		char header[64];
		snprintf(header, sizeof(header), "X-Forwarded-For: 2001:db8:7:%x::1\r\n", i);
		limited += fixture_get_link(f, "guess", header) == 429;
	}
	assert_int_equal(limited, 12);
	assert_int_equal(fixture_get_link(f, "guess", "X-Forwarded-For: 2001:db8:8:1::1\r\n"), 404);
}

TEST_CASE(does_not_limit_a_proxy_that_hides_its_visitors)
{
	struct fixture *f = *state;
	f->config.unknown_slugs_per_minute = 1;
	fixture_start(f);
	const char *const headers[] = { "",
		                        "X-Forwarded-For:\r\n",
		                        "X-Forwarded-For: unknown\r\n",
		                        "X-Forwarded-For: 203.0.113.7, _hidden\r\n",
		                        "X-Forwarded-For: 999.1.1.1\r\n",
		                        "X-Forwarded-For: ,,\r\n" };
	for (int i = 0; i < 5; i++)
		for (size_t h = 0; h < sizeof(headers) / sizeof(headers[0]); h++)
			assert_int_equal(fixture_get_link(f, "hidden", headers[h]), 404);
	/* but a visitor whom it does name is limited */
	assert_int_equal(fixture_get_link(f, "guess", "X-Forwarded-For: 2001:db8:1:2::3\r\n"), 404);
	assert_int_equal(fixture_get_link(f, "guess", "X-Forwarded-For: 2001:db8:1:2:ff::4\r\n"),
	                 429);
	assert_int_equal(fixture_get_link(f, "guess", "X-Forwarded-For: 2001:db8:1:3::3\r\n"), 404);
}

/* Only a trusted proxy may name the client: others could shift their misses to another address. */
TEST_CASE(counts_an_untrusted_peer_whatever_it_forwards)
{
	struct fixture *f = *state;
	f->config.unknown_slugs_per_minute = 1;
	f->config.trusted_proxies[0] = '\0';
	fixture_start(f);
	assert_int_equal(fixture_get_link(f, "guess", "X-Forwarded-For: 203.0.113.7\r\n"), 404);
	assert_int_equal(fixture_get_link(f, "guess", "X-Forwarded-For: 203.0.113.8\r\n"), 429);
}

TEST_CASE(counts_the_client_that_the_configured_header_names)
{
	struct fixture *f = *state;
	f->config.unknown_slugs_per_minute = 1;
	snprintf(f->config.client_ip_header, sizeof(f->config.client_ip_header), "X-Real-IP");
	fixture_start(f);
	static const char *const headers[] = {
		"X-Real-IP: 203.0.113.7\r\nX-Forwarded-For: 198.51.100.1\r\n",
		"X-Real-IP: 203.0.113.8\r\nX-Forwarded-For: 198.51.100.1\r\n",
		"X-Real-IP: 203.0.113.7\r\nX-Forwarded-For: 198.51.100.2\r\n",
	};
	assert_int_equal(fixture_get_link(f, "guess", headers[0]), 404);
	assert_int_equal(fixture_get_link(f, "guess", headers[1]), 404);
	assert_int_equal(fixture_get_link(f, "guess", headers[2]), 429);
}

TEST_MAIN(.group_set_up = fixture_group_set_up, .group_tear_down = fixture_group_tear_down,
          .set_up = fixture_set_up, .tear_down = fixture_tear_down)
