#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/mem.h"
#include "tests/support/test.h"
#include "tests/unit/http/http_fixture.h"

#define ASK "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

/* Whether the peer closes or resets within the deadline, whatever it sends before. */
static bool closes_within(int fd, int64_t deadline_ms, char *out, size_t size)
{
	return http_fixture_read_to_end(fd, out, size, deadline_ms);
}

/*
 * Sends one byte of text every 20 ms for at most limit_ms. Returns the time until the peer closed;
 * -1: it did not.
 */
static int64_t send_slowly(int fd, const char *text, int64_t limit_ms)
{
	int64_t began_ms = http_fixture_now_ms();
	while (http_fixture_now_ms() - began_ms < limit_ms) {
		struct pollfd entry = { .fd = fd, .events = POLLIN | POLLRDHUP };
		if (poll(&entry, 1, 20) > 0)
			return http_fixture_now_ms() - began_ms;
		if (*text != '\0' && http_fixture_send(fd, text, 1))
			text++;
	}
	return -1;
}

TEST_CASE(closes_a_client_that_sends_headers_slowly)
{
	struct http_server_config config = http_fixture_config();
	config.header_deadline_ms = 400;
	struct http_fixture f;
	http_fixture_start(&f, config, NULL);
	char request[8192], response[4096];
	memset(request, 'a', sizeof(request) - 1);
	request[sizeof(request) - 1] = '\0';
	memcpy(request, "GET / HTTP/1.1\r\nHost: a\r\nX: ", 28);

	int fd = http_fixture_connect(&f);
	assert_true(http_fixture_send(fd, request, 28));
	assert_in_range(send_slowly(fd, request + 28, 8000), 300, 4000);
	assert_true(closes_within(fd, 5000, response, sizeof(response)));
	assert_memory_equal(response, "HTTP/1.1 408 ", 13);
	assert_int_equal(http_fixture_count(response, "HTTP/1.1"), 1);
	assert_non_null(strstr(response, "\r\nX-Request-Id: "));
	assert_non_null(strstr(response, "application/problem+json"));
	close(fd);
	assert_int_equal(atomic_load(&f.calls), 0);
	assert_int_equal(atomic_load(&f.last_status), 408);
	http_fixture_stop(&f, 1000);
}

TEST_CASE(closes_a_client_that_sends_its_request_line_slowly)
{
	struct http_server_config config = http_fixture_config();
	config.header_deadline_ms = 400;
	struct http_fixture f;
	http_fixture_start(&f, config, NULL);
	char response[4096];
	int fd = http_fixture_connect(&f);
	assert_in_range(
		send_slowly(
			fd,
			"GET /aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
			8000),
		300, 4000);
	assert_true(closes_within(fd, 5000, response, sizeof(response)));
	assert_string_equal(response, "");
	close(fd);
	http_fixture_stop(&f, 1000);
}

TEST_CASE(closes_a_client_that_sends_its_body_slowly)
{
	struct http_server_config config = http_fixture_config();
	config.header_deadline_ms = 400;
	struct http_fixture f;
	http_fixture_start(&f, config, NULL);
	char response[4096];
	int fd = http_fixture_connect(&f);
	assert_true(http_fixture_send_text(
		fd, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 500\r\n\r\n"));
	assert_in_range(
		send_slowly(
			fd,
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
			8000),
		300, 4000);
	assert_true(closes_within(fd, 5000, response, sizeof(response)));
	assert_memory_equal(response, "HTTP/1.1 408 ", 13);
	close(fd);
	assert_int_equal(atomic_load(&f.calls), 0);
	http_fixture_stop(&f, 1000);
}

/*
 * A kept connection has idle_ms for the next request line, and header_deadline_ms from there for
 * the headers.
 */
TEST_CASE(closes_a_client_that_sends_its_second_request_slowly)
{
	static const char *const pieces[] = {
		"GET /aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		"\r\nHost: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	};
	struct http_server_config config = http_fixture_config();
	config.header_deadline_ms = 400;
	config.idle_ms = 400;
	struct http_fixture f;
	http_fixture_start(&f, config, NULL);
	for (unsigned i = 0; i < 2; i++) {
		struct http_fixture_response response;
		char rest[4096];
		int fd = http_fixture_connect(&f);
		assert_true(http_fixture_send_text(fd, ASK));
		http_fixture_read_response(fd, true, &response);
		if (i == 1)
			assert_true(http_fixture_send_text(fd, "GET / HTTP/1.1"));
		assert_in_range(send_slowly(fd, pieces[i], 8000), 300, 4000);
		assert_true(closes_within(fd, 5000, rest, sizeof(rest)));
		assert_int_equal(http_fixture_count(rest, "HTTP/1.1 408 "), i);
		close(fd);
	}
	assert_int_equal(atomic_load(&f.calls), 2);
	http_fixture_stop(&f, 1000);
}

TEST_CASE(closes_a_client_that_never_sends_anything)
{
	struct http_server_config config = http_fixture_config();
	config.header_deadline_ms = 200;
	struct http_fixture f;
	http_fixture_start(&f, config, NULL);
	char response[16];
	int fd = http_fixture_connect(&f);
	assert_true(closes_within(fd, 5000, response, sizeof(response)));
	assert_string_equal(response, "");
	close(fd);
	http_fixture_stop(&f, 1000);
}

TEST_CASE(closes_idle_connections_and_only_those)
{
	struct http_server_config config = http_fixture_config();
	config.header_deadline_ms = 20000;
	config.idle_ms = 300;
	struct http_fixture f;
	http_fixture_start(&f, config, NULL);
	struct http_fixture_response response;
	char rest[16];
	int idle = http_fixture_connect(&f);
	int fresh = http_fixture_connect(&f);
	assert_true(http_fixture_send_text(idle, ASK));
	http_fixture_read_response(idle, true, &response);
	assert_true(closes_within(idle, 5000, rest, sizeof(rest)));
	assert_string_equal(rest, "");
	assert_true(http_fixture_send_text(fresh, ASK));
	http_fixture_read_response(fresh, true, &response);
	assert_int_equal(response.status, 200);
	close(idle);
	close(fresh);
	http_fixture_stop(&f, 1000);
}

/* The library's own epoll loop stalls when exactly 128 events are ready. */
TEST_CASE(serves_every_one_of_many_simultaneous_connections)
{
	static const unsigned counts[] = { 127, 128, 129, 256 };
	struct http_server_config config = http_fixture_config();
	config.connections = 300;
	struct http_fixture f;
	http_fixture_start(&f, config, NULL);
	int64_t first_ms =
		0; /* the time for 127 connections, which never stall; the machine may be busy */
	for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
		int fds[256];
		for (unsigned i = 0; i < counts[c]; i++)
			fds[i] = http_fixture_connect(&f);
		int64_t began_ms = http_fixture_now_ms();
		for (unsigned round = 0; round < 10; round++) {
			struct http_fixture_response response;
			for (unsigned i = 0; i < counts[c]; i++)
				assert_true(http_fixture_send_text(fds[i], ASK));
			for (unsigned i = 0; i < counts[c]; i++) {
				http_fixture_read_response(fds[i], true, &response);
				assert_int_equal(response.status, 200);
			}
		}
		int64_t took_ms = http_fixture_now_ms() - began_ms;
		if (c == 0)
			first_ms = took_ms;
		else if (took_ms > 30000 + 4 * first_ms)
			fail_msg("%u connections took %lld ms, %u took %lld", counts[c],
			         (long long)took_ms, counts[0], (long long)first_ms);
		for (unsigned i = 0; i < counts[c]; i++)
			close(fds[i]);
	}
	http_fixture_stop(&f, 1000);
}

TEST_MAIN()
