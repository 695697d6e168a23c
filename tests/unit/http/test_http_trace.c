#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/client_ip.h"
#include "tests/support/test.h"
#include "tests/unit/http/http_fixture.h"

#define TRACE "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
#define OTHER "00-11111111111111111111111111111111-2222222222222222-00"

static enum http_progress send_trace(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	const char *trace = http_exchange_traceparent(x);
	http_exchange_set_body(x, "text/plain", trace, strlen(trace));
	return HTTP_COMPLETE;
}

/* Checks the trace of a request with these headers when the server trusts the range trusted. */
static void assert_trace(const char *trusted, const char *headers, const char *expected)
{
	struct http_fixture f;
	struct http_fixture_response response;
	struct client_ip_ranges ranges;
	char request[2048];
	assert_int_equal(client_ip_ranges_parse(trusted, &ranges), OK);
	struct http_server_config config = http_fixture_config();
	config.trusted = &ranges;
	http_fixture_start(&f, config, send_trace);
	snprintf(request, sizeof(request), "GET / HTTP/1.1\r\nHost: a\r\n%s\r\n", headers);
	http_fixture_request(&f, request, &response);
	assert_int_equal(response.status, 200);
	assert_string_equal(response.body, expected);
	http_fixture_stop(&f, 1000);
}

TEST_CASE(uses_the_trace_of_a_trusted_proxy)
{
	assert_trace("127.0.0.0/8", "traceparent: " TRACE "\r\n", TRACE);
	assert_trace("127.0.0.0/8", "TraceParent: " TRACE "\r\nX-A: b\r\n", TRACE);
}

TEST_CASE(ignores_the_trace_of_any_other_peer)
{
	assert_trace("", "traceparent: " TRACE "\r\n", "");
	assert_trace("10.0.0.0/8", "traceparent: " TRACE "\r\n", "");
}

TEST_CASE(ignores_malformed_and_repeated_traces)
{
	assert_trace("127.0.0.0/8", "", "");
	assert_trace("127.0.0.0/8", "traceparent:\r\n", "");
	assert_trace("127.0.0.0/8", "traceparent: " TRACE "x\r\n", "");
	assert_trace("127.0.0.0/8", "traceparent: 00-0-0-0\r\n", "");
	assert_trace("127.0.0.0/8", "traceparent: " TRACE "\r\ntraceparent: " TRACE "\r\n", "");
	assert_trace("127.0.0.0/8",
	             "traceparent: " TRACE "\r\ntraceparent: " OTHER "\r\ntraceparent: " OTHER
	             "\r\n",
	             "");
}

/* A connection uses its record again for the next request. */
TEST_CASE(the_next_request_of_a_connection_has_no_trace)
{
	struct http_fixture f;
	struct http_fixture_response response;
	struct client_ip_ranges ranges;
	assert_int_equal(client_ip_ranges_parse("127.0.0.1", &ranges), OK);
	struct http_server_config config = http_fixture_config();
	config.trusted = &ranges;
	http_fixture_start(&f, config, send_trace);
	int fd = http_fixture_connect(&f);
	assert_true(http_fixture_send_text(fd, "GET / HTTP/1.1\r\nHost: a\r\ntraceparent: " TRACE
	                                       "\r\n\r\n"));
	http_fixture_read_response(fd, true, &response);
	assert_string_equal(response.body, TRACE);
	assert_true(http_fixture_send_text(fd, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
	http_fixture_read_response(fd, true, &response);
	assert_string_equal(response.body, "");
	close(fd);
	http_fixture_stop(&f, 1000);
}

TEST_MAIN()
