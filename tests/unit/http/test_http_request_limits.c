#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/mem.h"
#include "tests/support/test.h"
#include "tests/unit/http/http_fixture.h"

#define BODY_MAX 16384

static enum http_progress echo(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	size_t len;
	const char *body = http_exchange_body(x, &len);
	http_exchange_set_body(x, "application/octet-stream", body, len);
	return HTTP_COMPLETE;
}

static void request_with_body(const struct http_fixture *f, size_t len, bool chunked,
                              struct http_fixture_response *response)
{
	char head[256], size[32];
	char *body = mem_zero(len + 1);
	memset(body, 'b', len);
	int fd = http_fixture_connect(f);
	snprintf(head, sizeof(head),
	         chunked ? "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
	                 : "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %zu\r\n\r\n",
	         len);
	assert_true(http_fixture_send_text(fd, head));
	snprintf(size, sizeof(size), "%zx\r\n", len);
	if (chunked && len > 0)
		assert_true(http_fixture_send_text(fd, size));
	/* the server may respond and close before everything is sent */
	bool sent = http_fixture_send(fd, body, len);
	if (chunked && sent)
		http_fixture_send_text(fd, len > 0 ? "\r\n0\r\n\r\n" : "0\r\n\r\n");
	free(body);
	http_fixture_read_response(fd, true, response);
	close(fd);
}

TEST_CASE(accepts_bodies_up_to_the_limit)
{
	struct http_fixture f;
	struct http_fixture_response response;
	http_fixture_start(&f, http_fixture_config(), echo);
	static const size_t lengths[] = { 0, 1, 1000, BODY_MAX - 1, BODY_MAX };
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		for (int chunked = 0; chunked < 2; chunked++) {
			request_with_body(&f, lengths[i], chunked, &response);
			assert_int_equal(response.status, 200);
			assert_int_equal(response.body_len, lengths[i]);
			assert_int_equal(strspn(response.body, "b"), lengths[i]);
		}
	}
	http_fixture_stop(&f, 1000);
}

TEST_CASE(rejects_larger_bodies_with_413)
{
	struct http_fixture f;
	struct http_fixture_response response;
	char value[64];
	http_fixture_start(&f, http_fixture_config(), echo);
	static const size_t lengths[] = { BODY_MAX + 1, 10 * BODY_MAX, 4U << 20 };
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		for (int chunked = 0; chunked < 2; chunked++) {
			request_with_body(&f, lengths[i], chunked, &response);
			if (response.status != 413)
				fail_msg("%zu bytes (%d): %u", lengths[i], chunked,
				         response.status);
			assert_string_equal(
				http_fixture_header(&response, "Connection", value, sizeof(value)),
				"close");
			assert_string_equal(http_fixture_header(&response, "Content-Type", value,
			                                        sizeof(value)),
			                    "application/problem+json");
			assert_int_equal(strlen(http_fixture_header(&response, "X-Request-Id",
			                                            value, sizeof(value))),
			                 24);
		}
	}
	assert_int_equal(atomic_load(&f.calls), 0);
	assert_true(http_fixture_wait_for(&f.observed,
	                                  6)); /* the observer runs after the response is sent */
	http_fixture_stop(&f, 1000);
}

/* On other systems a reset discards a response that the client has not read yet. */
TEST_CASE(does_not_reset_a_client_that_still_sends_when_rejected)
{
	struct http_fixture f;
	struct http_fixture_response response;
	char more[1024];
	memset(more, 'b', sizeof(more));
	http_fixture_start(&f, http_fixture_config(), echo);
	int fd = http_fixture_connect(&f);
	assert_true(http_fixture_send_text(
		fd, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999\r\n\r\n"));
	http_fixture_read_response(fd, true, &response);
	assert_int_equal(response.status, 413);
	for (unsigned i = 0; i < 100; i++)
		assert_true(http_fixture_send(fd, more, sizeof(more)));
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	assert_true(http_fixture_read_to_end(fd, more, sizeof(more),
	                                     1000)); /* sooner than HTTP_LINGER_MS */
	close(fd);
	http_fixture_stop(&f, 1000);
}

TEST_CASE(rejects_a_body_before_it_is_sent_after_expect_100_continue)
{
	struct http_fixture f;
	struct http_fixture_response response;
	http_fixture_start(&f, http_fixture_config(), echo);
	http_fixture_request(
		&f,
		"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 99999999\r\n\r\n",
		&response);
	assert_int_equal(response.status, 413);
	http_fixture_request(
		&f, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 999999999999999999\r\n\r\n",
		&response);
	assert_int_equal(response.status, 413);
	http_fixture_stop(&f, 1000);
}

TEST_CASE(rejects_large_bodies_of_get_and_head)
{
	struct http_fixture f;
	struct http_fixture_response response;
	http_fixture_start(&f, http_fixture_config(), echo);
	static const struct {
		const char *method;
		unsigned len, status;
	} cases[] = { { "GET", 1024, 200 },
		      { "GET", 1025, 413 },
		      { "HEAD", 1025, 413 },
		      { "POST", 1025, 200 } };
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char request[2048];
		snprintf(request, sizeof(request),
		         "%s / HTTP/1.1\r\nHost: a\r\nContent-Length: %u\r\n\r\n%0*u",
		         cases[i].method, cases[i].len, (int)cases[i].len, 0U);
		http_fixture_request(&f, request, &response);
		assert_int_equal(response.status, cases[i].status);
	}
	http_fixture_stop(&f, 1000);
}

#define LARGE 60000
#define HELD_MAX 48

/* Sends a request without the last byte of its body. */
static int send_incomplete(const struct http_fixture *f, bool chunked)
{
	static const char body[LARGE - 1];
	char head[256];
	int fd = http_fixture_connect(f);
	snprintf(head, sizeof(head),
	         chunked ? "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n"
	                 : "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %u\r\n\r\n",
	         LARGE);
	assert_true(http_fixture_send_text(fd, head));
	http_fixture_send(fd, body, sizeof(body));
	return fd;
}

static unsigned request_with_large_body(const struct http_fixture *f)
{
	struct http_fixture_response response;
	char value[64];
	request_with_body(f, LARGE, false, &response);
	if (response.status == 503) {
		assert_string_equal(
			http_fixture_header(&response, "Retry-After", value, sizeof(value)), "1");
		assert_string_equal(
			http_fixture_header(&response, "Connection", value, sizeof(value)),
			"close");
	}
	return response.status;
}

TEST_CASE(bounds_the_memory_of_all_bodies)
{
	struct http_fixture f;
	struct http_fixture_response response;
	struct http_server_config config = http_fixture_config();
	int fds[HELD_MAX];
	config.body_bytes_max = LARGE;
	config.bodies_bytes_max = 10U * LARGE;
	http_fixture_start(&f, config, echo);
	for (int chunked = 0; chunked < 2; chunked++) {
		size_t held = 0;
		while (request_with_large_body(&f) == 200 && held < HELD_MAX)
			fds[held++] = send_incomplete(&f, chunked);
		assert_in_range(held, 5, HELD_MAX - 1);
		request_with_body(&f, BODY_MAX / 2, chunked, &response);
		assert_int_equal(response.status, 200); /* small bodies do not count */
		while (held > 0)
			close(fds[--held]);
		int64_t end_ms = http_fixture_now_ms() + HTTP_FIXTURE_DEADLINE_MS;
		while (request_with_large_body(&f) != 200)
			assert_true(http_fixture_now_ms() < end_ms);
	}
	http_fixture_stop(&f, 1000);
}

TEST_CASE(rejects_chunks_with_411_where_a_length_is_needed)
{
	struct http_server_config config = http_fixture_config();
	config.needs_length = true;
	struct http_fixture f;
	char response[4096];
	http_fixture_start(&f, config, echo);
	int fd = http_fixture_connect(&f);
	assert_true(http_fixture_send_text(
		fd, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
		    "0\n\nGET /hidden HTTP/1.1\r\nHost: a\r\n\r\n"));
	assert_true(
		http_fixture_read_to_end(fd, response, sizeof(response), HTTP_FIXTURE_DEADLINE_MS));
	close(fd);
	assert_memory_equal(response, "HTTP/1.1 411 Length Required\r\n", 30);
	assert_non_null(strstr(response, "\r\nConnection: close\r\n"));
	assert_int_equal(http_fixture_count(response, "HTTP/1.1 "), 1);
	assert_int_equal(atomic_load(&f.calls), 0);
	http_fixture_stop(&f, 1000);
}

static void request_with_target(const struct http_fixture *f, size_t len, bool in_query,
                                struct http_fixture_response *response)
{
	char *request = mem_zero(len + 64);
	int at = snprintf(request, 16, "GET %s", in_query ? "/?" : "/a");
	memset(request + at, 'a', len - 2);
	memcpy(request + at + len - 2, " HTTP/1.1\r\nHost: a\r\n\r\n", 23);
	http_fixture_request(f, request, response);
	free(request);
}

TEST_CASE(rejects_long_targets_with_414)
{
	struct http_fixture f;
	struct http_fixture_response response;
	http_fixture_start(&f, http_fixture_config(), echo);
	for (int in_query = 0; in_query < 2; in_query++) {
		static const size_t accepted[] = { 2, 2048, 4096 };
		static const size_t refused[] = { 4097, 8192, 12000, 40000, 200000 };
		for (size_t i = 0; i < sizeof(accepted) / sizeof(accepted[0]); i++) {
			request_with_target(&f, accepted[i], in_query, &response);
			assert_int_equal(response.status, 200);
		}
		for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
			request_with_target(&f, refused[i], in_query, &response);
			assert_int_equal(response.status, 414);
		}
	}
	assert_int_equal(atomic_load(&f.calls), 6);
	http_fixture_stop(&f, 1000);
}

TEST_CASE(accepts_targets_up_to_the_configured_length)
{
	struct http_server_config config = http_fixture_config();
	config.head_bytes_max = 10240;
	config.target_bytes_max = 6400;
	struct http_fixture f;
	struct http_fixture_response response;
	http_fixture_start(&f, config, echo);
	for (int in_query = 0; in_query < 2; in_query++) {
		request_with_target(&f, 6400, in_query, &response);
		assert_int_equal(response.status, 200);
		request_with_target(&f, 6401, in_query, &response);
		assert_int_equal(response.status, 414);
	}
	assert_int_equal(atomic_load(&f.calls), 2);
	http_fixture_stop(&f, 1000);
}

/* The library would parse them into records that take more memory than a connection has. */
TEST_CASE(accepts_as_many_query_pairs_as_fit_the_target)
{
	struct http_fixture f;
	struct http_fixture_response response;
	http_fixture_start(&f, http_fixture_config(), NULL);
	static const unsigned counts[] = { 1, 64, 65, 180, 1023 };
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		char request[8192], query[4096];
		size_t len = 0;
		for (unsigned pair = 0; pair < counts[i]; pair++)
			len += (size_t)snprintf(query + len, sizeof(query) - len, "%sa=b",
			                        pair == 0 ? "" : "&");
		snprintf(request, sizeof(request), "GET /p?%s HTTP/1.1\r\nHost: a\r\n\r\n", query);
		http_fixture_request(&f, request, &response);
		assert_int_equal(response.status, 200);
		assert_memory_equal(response.body, "GET /p ?", 8);
		assert_string_equal(response.body + 8, query);
	}
	http_fixture_stop(&f, 1000);
}

TEST_CASE(accepts_as_many_cookies_as_fit_the_head)
{
	struct http_fixture f;
	http_fixture_start(&f, http_fixture_config(), echo);
	static const int lengths[] = { 200, 2000, 8000 };
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct http_fixture_response response;
		char request[8192];
		int at = snprintf(request, sizeof(request),
		                  "GET / HTTP/1.1\r\nHost: a\r\nCookie: a=b");
		while (at < lengths[i])
			at += snprintf(request + at, sizeof(request) - (size_t)at, "; a=b");
		snprintf(request + at, sizeof(request) - (size_t)at, "\r\n\r\n");
		http_fixture_request(&f, request, &response);
		assert_int_equal(response.status, 200);
	}
	http_fixture_stop(&f, 1000);
}

static enum http_progress redirect_to_long_url(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	char target[2049];
	memset(target, 't', sizeof(target) - 1);
	target[sizeof(target) - 1] = '\0';
	assert_int_equal(http_exchange_add_header(x, "Location", target), OK);
	http_exchange_set_status(x, 302);
	return HTTP_COMPLETE;
}

/*
 * The library builds the head of a response in the memory that the request has left of the
 * connection's.
 */
TEST_CASE(has_room_for_the_longest_redirect_after_a_large_head)
{
	struct http_fixture f;
	http_fixture_start(&f, http_fixture_config(), redirect_to_long_url);
	for (unsigned pairs = 1; pairs <= 4000; pairs += 500) {
		char request[16384];
		int at = snprintf(request, sizeof(request), "GET /?");
		memset(request + at, '&', pairs - 1);
		at += (int)pairs - 1;
		at += snprintf(request + at, 64, " HTTP/1.1\r\nHost: a\r\n");
		for (unsigned i = 0; i < 63; i++) {
			int left = 8192 - 4 - at;
			int len = left / (int)(63 - i) - 8;
			at += snprintf(request + at, sizeof(request) - (size_t)at, "X-%u: %0*u\r\n",
			               i, len > 1 ? len : 1, i);
		}
		snprintf(request + at, sizeof(request) - (size_t)at, "\r\n");
		struct http_fixture_response response;
		http_fixture_request(&f, request, &response);
		if (response.status != 302)
			fail_msg("%u pairs, %zu bytes: %u", pairs, strlen(request),
			         response.status);
	}
	http_fixture_stop(&f, 1000);
}

static void request_with_headers(const struct http_fixture *f, unsigned count, unsigned len,
                                 struct http_fixture_response *response)
{
	size_t size = 64 + (size_t)count * (len + 32);
	char *request = mem_zero(size);
	int at = snprintf(request, size, "GET / HTTP/1.1\r\nHost: a\r\n");
	for (unsigned i = 0; i < count; i++)
		at += snprintf(request + at, size - (size_t)at, "X-%u: %0*u\r\n", i, (int)len, i);
	snprintf(request + at, size - (size_t)at, "\r\n");
	http_fixture_request(f, request, response);
	free(request);
}

TEST_CASE(rejects_large_heads_with_431_and_names_the_limit)
{
	struct http_fixture f;
	struct http_fixture_response response;
	http_fixture_start(&f, http_fixture_config(), echo);
	request_with_headers(&f, 63, 100, &response); /* plus Host */
	assert_int_equal(response.status, 200);
	request_with_headers(&f, 1, 8100, &response);
	assert_int_equal(response.status, 200);
	assert_int_equal(atomic_load(&f.calls), 2);
	static const struct {
		unsigned count, len;
	} refused[] = { { 64, 10 },   { 500, 1 },   { 1, 8192 },
		        { 10, 1000 }, { 1, 40000 }, { 100, 1000 } };
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		request_with_headers(&f, refused[i].count, refused[i].len, &response);
		if (response.status != 431)
			fail_msg("%u headers of %u bytes: %u", refused[i].count, refused[i].len,
			         response.status);
	}
	assert_int_equal(atomic_load(&f.calls), 2);
	request_with_headers(&f, 64, 10, &response);
	assert_non_null(strstr(response.body, "has more than 64 headers."));
	request_with_headers(&f, 1, 8192, &response);
	assert_non_null(strstr(response.body, "may have at most 8192 bytes."));
	http_fixture_stop(&f, 1000);
}

TEST_MAIN()
