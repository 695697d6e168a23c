#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/test.h"
#include "tests/unit/http/http_fixture.h"

#define LARGE 60000U
#define HELD_MAX 48

static enum http_progress echo(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	size_t len;
	const char *body = http_exchange_body(x, &len);
	http_exchange_set_body(x, "application/octet-stream", body, len);
	return HTTP_COMPLETE;
}

/* Each request belongs to the flow that its path names; /0 to none. */
static size_t use_flow_of_path(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	http_exchange_set_flow(x, (uint64_t)strtoul(http_exchange_path(x) + 1, NULL, 10));
	return LARGE;
}

static unsigned send_for_flow(const struct http_fixture *f, unsigned flow, size_t sent, int *fd)
{
	static const char body[LARGE];
	struct http_fixture_response response;
	char head[256];
	*fd = http_fixture_connect(f);
	snprintf(head, sizeof(head), "POST /%u HTTP/1.1\r\nHost: a\r\nContent-Length: %u\r\n\r\n",
	         flow, LARGE);
	assert_true(http_fixture_send_text(*fd, head));
	http_fixture_send(*fd, body, sent);
	if (sent < LARGE)
		return 0;
	http_fixture_read_response(*fd, true, &response);
	close(*fd);
	return response.status;
}

TEST_CASE(bounds_the_memory_of_the_bodies_of_one_flow)
{
	struct http_fixture f;
	struct http_server_config config = http_fixture_config();
	int fds[HELD_MAX], fd;
	size_t held = 0;
	config.body_bytes_max = LARGE;
	config.bodies_bytes_max = 16U * LARGE;
	config.body_limit = use_flow_of_path;
	http_fixture_start(&f, config, echo);
	while (send_for_flow(&f, 1, LARGE, &fd) == 200 && held < HELD_MAX)
		send_for_flow(&f, 1, LARGE - 1, &fds[held++]);
	assert_in_range(held, 2, 6); /* about a quarter */
	assert_int_equal(send_for_flow(&f, 2, LARGE, &fd), 200);
	while (held > 0)
		close(fds[--held]);
	http_fixture_stop(&f, 1000);
}

/* Rejects the paths that begin with /n. */
static bool admit(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	if (http_exchange_path(x)[1] != 'n')
		return true;
	http_exchange_set_status(x, 401);
	http_exchange_set_fixed_body(x, "text/plain", "no", 2);
	return false;
}

TEST_CASE(asks_for_admission_before_it_reads_a_large_body)
{
	struct http_fixture f;
	struct http_fixture_response response;
	struct http_server_config config = http_fixture_config();
	char request[256], value[64];
	int fd;
	config.body_bytes_max = LARGE;
	config.admission = admit;
	http_fixture_start(&f, config, echo);
	for (int expects = 0; expects < 2; expects++) {
		snprintf(request, sizeof(request),
		         "POST /no HTTP/1.1\r\nHost: a\r\n%sContent-Length: %u\r\n\r\n",
		         expects ? "Expect: 100-continue\r\n" : "", LARGE);
		http_fixture_request(&f, request, &response); /* sends no body */
		assert_int_equal(response.status, 401);
		assert_string_equal(
			http_fixture_header(&response, "Connection", value, sizeof(value)),
			"close");
	}
	http_fixture_request(&f,
	                     "POST /no HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
	                     &response);
	assert_int_equal(response.status, 401);
	assert_int_equal(atomic_load(&f.calls), 0);
	http_fixture_request(&f, "POST /no HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
	                     &response);
	assert_int_equal(response.status, 200); /* small bodies need none */
	assert_int_equal(send_for_flow(&f, 1, LARGE, &fd), 200);
	http_fixture_stop(&f, 1000);
}

TEST_MAIN()
