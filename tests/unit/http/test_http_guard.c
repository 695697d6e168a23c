#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/test.h"
#include "tests/unit/http/http_fixture.h"

/*
 * test_http_framing.c tests requests whose end is in doubt. This file tests the rest of the guard.
 */
#define HIDDEN "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n"

TEST_CASE(closes_the_connection_after_a_line_that_is_no_request)
{
	struct http_fixture f;
	http_fixture_start(&f, http_fixture_config(), NULL);
	const char *const noise[] = { "GET\r\n\r\n" HIDDEN, " / HTTP/1.1\r\nHost: a\r\n\r\n" HIDDEN,
		                      "\x16\x03\x01\r\n" HIDDEN };
	for (size_t i = 0; i < sizeof(noise) / sizeof(noise[0]); i++) {
		char response[1024];
		int fd = http_fixture_connect(&f);
		assert_true(http_fixture_send_text(fd, noise[i]));
		assert_true(http_fixture_read_to_end(fd, response, sizeof(response),
		                                     HTTP_FIXTURE_DEADLINE_MS));
		assert_string_equal(response, "");
		close(fd);
	}
	assert_int_equal(atomic_load(&f.calls), 0);
	http_fixture_stop(&f, 1000);
}

static enum http_progress send_header_x(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	const char *value = http_exchange_header(x, "X");
	http_exchange_set_body(x, "text/plain", value, strlen(value));
	return HTTP_COMPLETE;
}

TEST_CASE(white_space_around_a_value_is_no_part_of_it)
{
	struct http_fixture f;
	struct http_fixture_response response;
	http_fixture_start(&f, http_fixture_config(), send_header_x);
	http_fixture_request(&f, "GET / HTTP/1.1\r\nHost: a \r\nX: \ta b \t \r\nY: c\r\n\r\n",
	                     &response);
	assert_int_equal(response.status, 200);
	assert_string_equal(response.body, "a b");
	http_fixture_stop(&f, 1000);
}

TEST_CASE(sends_505_to_other_major_versions)
{
	struct http_fixture f;
	struct http_fixture_response response;
	http_fixture_start(&f, http_fixture_config(), NULL);
	http_fixture_request(&f, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &response);
	assert_int_equal(response.status, 505);
	http_fixture_request(&f, "GET / HTTP/0.9\r\n\r\n", &response);
	assert_int_equal(response.status, 505);
	assert_int_equal(atomic_load(&f.calls), 0);
	http_fixture_stop(&f, 1000);
}

/* A long head makes the library move its buffer. The guard must still find every part in place. */
TEST_CASE(accepts_long_heads_in_small_pieces)
{
	struct http_fixture f;
	http_fixture_start(&f, http_fixture_config(), NULL);
	char request[16384];
	int len = snprintf(request, sizeof(request), "GET /%0*d?%0*d HTTP/1.1\r\nHost: a\r\n", 900,
	                   1, 900, 2);
	for (unsigned i = 0; i < 60; i++)
		len += snprintf(request + len, sizeof(request) - (size_t)len, "X-%u: %0*u\r\n", i,
		                (int)i + 40, i);
	len += snprintf(request + len, sizeof(request) - (size_t)len, "\r\n");
	int fd = http_fixture_connect(&f);
	assert_in_range(len, 6000, 8192);
	for (int sent = 0; sent < len; sent += 397)
		assert_true(http_fixture_send(fd, request + sent,
		                              (size_t)(len - sent < 397 ? len - sent : 397)));
	struct http_fixture_response response;
	http_fixture_read_response(fd, true, &response);
	assert_int_equal(response.status, 200);
	close(fd);
	http_fixture_stop(&f, 1000);
}

/* Pipelined requests share the library's buffer with the requests behind them. */
TEST_CASE(accepts_pipelined_requests)
{
	struct http_fixture f;
	http_fixture_start(&f, http_fixture_config(), NULL);
	int fd = http_fixture_connect(&f);
	static const char burst[] =
		"GET /1?a=b HTTP/1.1\r\nHost: a\r\n\r\nPOST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nxy"
		"POST /3 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nz\r\n0\r\n\r\n"
		"GET /4 HTTP/1.1\r\nHost: a\r\n\r\n";
	assert_true(http_fixture_send(fd, burst, sizeof(burst) - 1));
	const char *const expected[] = { "GET /1 ?a=b", "POST /2 ?", "POST /3 ?", "GET /4 ?" };
	for (unsigned i = 0; i < 4; i++) {
		struct http_fixture_response response;
		http_fixture_read_response(fd, true, &response);
		assert_int_equal(response.status, 200);
		assert_string_equal(response.body, expected[i]);
	}
	close(fd);
	assert_int_equal(atomic_load(&f.calls), 4);
	http_fixture_stop(&f, 1000);
}

TEST_MAIN()
