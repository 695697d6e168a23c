#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/test.h"
#include "tests/unit/http/http_fixture.h"

static void start(struct http_fixture *f, http_handler handler)
{
	http_fixture_start(f, http_fixture_config(), handler);
}

TEST_CASE(passes_raw_paths_and_queries)
{
	static const char *const cases[][2] = {
		{ "/a%00b", "GET /a%00b ?" },
		{ "/a%2fb%0d%0a", "GET /a%2fb%0d%0a ?" },
		{ "/a+b;c?d=%41&&e=+&=", "GET /a+b;c ?d=%41&&e=+&=" },
		{ "/?", "GET / ?" },
		{ "/?a?b", "GET / ?a?b" },
		{ "//a//", "GET //a// ?" },
		{ "/%zz%", "GET /%zz% ?" },
		{ "http://a/b?c", "GET /b ?c" },
		{ "HTTPS://a", "GET / ?" },
		{ "http://a?c=/d", "GET / ?c=/d" },
	};
	struct http_fixture f;
	start(&f, NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char request[256];
		struct http_fixture_response response;
		snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: a\r\n\r\n",
		         cases[i][0]);
		http_fixture_request(&f, request, &response);
		if (response.status != 200)
			fail_msg("%s: %u %s", cases[i][0], response.status, response.body);
		assert_string_equal(response.body, cases[i][1]);
	}
	http_fixture_stop(&f, 1000);
}

TEST_CASE(parses_the_methods)
{
	static const char *const methods[] = { "GET",     "POST", "PUT",   "PATCH", "DELETE",
		                               "OPTIONS", "BREW", "TRACE", "get" };
	struct http_fixture f;
	start(&f, NULL);
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		char request[128], expected[64];
		struct http_fixture_response response;
		snprintf(request, sizeof(request), "%s / HTTP/1.1\r\nHost: a\r\n\r\n", methods[i]);
		snprintf(expected, sizeof(expected), "%s / ?", methods[i]);
		http_fixture_request(&f, request, &response);
		assert_string_equal(response.body, expected);
	}
	http_fixture_stop(&f, 1000);
}

TEST_CASE(sends_the_length_but_no_body_to_head)
{
	struct http_fixture f;
	start(&f, NULL);
	int fd = http_fixture_connect(&f);
	struct http_fixture_response response;
	char length[16];
	for (unsigned i = 0; i < 3; i++) { /* a body would be read as the next response */
		assert_true(http_fixture_send_text(fd, "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n"));
		http_fixture_read_response(fd, false, &response);
		assert_int_equal(response.status, 200);
		assert_string_equal(
			http_fixture_header(&response, "Content-Length", length, sizeof(length)),
			"8");
	}
	close(fd);
	http_fixture_stop(&f, 1000);
}

TEST_CASE(keeps_a_valid_request_id_or_creates_one)
{
	struct http_fixture f;
	start(&f, NULL);
	static const char *const kept[] = {
		"a", "My.Id_9-z", "0123456789012345678901234567890123456789012345678901234567890123"
	};
	static const char *const replaced[] = {
		"",         "a b",
		"a\"",      "a/b",
		"\303\244", "01234567890123456789012345678901234567890123456789012345678901234"
	};
	struct http_fixture_response response;
	char request[256], id[128], previous[128] = "";
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		snprintf(request, sizeof(request),
		         "GET / HTTP/1.1\r\nHost: a\r\nX-Request-Id: %s\r\n\r\n", kept[i]);
		http_fixture_request(&f, request, &response);
		assert_string_equal(http_fixture_header(&response, "X-Request-Id", id, sizeof(id)),
		                    kept[i]);
	}
	for (size_t i = 0; i < sizeof(replaced) / sizeof(replaced[0]); i++) {
		snprintf(request, sizeof(request),
		         "GET / HTTP/1.1\r\nHost: a\r\nX-Request-Id: %s\r\n\r\n", replaced[i]);
		http_fixture_request(&f, request, &response);
		http_fixture_header(&response, "X-Request-Id", id, sizeof(id));
		assert_int_equal(strlen(id), 24);
		assert_int_equal(strspn(id, "0123456789abcdef"), 24);
		assert_string_not_equal(id, previous);
		memcpy(previous, id, sizeof(id));
	}
	http_fixture_stop(&f, 1000);
}

static enum http_progress inject(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	static const char *const evil[] = { "a\r\nSet-Cookie: b", "a\nb", "a\rb", "a\001",
		                            "a\033[0m",           "\177" };
	for (size_t i = 0; i < sizeof(evil) / sizeof(evil[0]); i++)
		assert_int_equal(http_exchange_add_header(x, "Location", evil[i]), ERR_INVALID);
	static const char *const names[] = { "", "a b", "a:", "a\r\nb", "\303\244", "a\t" };
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(http_exchange_add_header(x, names[i], "v"), ERR_INVALID);
	assert_int_equal(http_exchange_add_header(x, "Location", "https://example.com/\303\244\tb"),
	                 OK);
	http_exchange_set_status(x, 302);
	return HTTP_COMPLETE;
}

TEST_CASE(rejects_header_injection)
{
	struct http_fixture f;
	start(&f, inject);
	struct http_fixture_response response;
	char value[128];
	http_fixture_request(&f, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", &response);
	assert_int_equal(response.status, 302);
	assert_string_equal(http_fixture_header(&response, "Location", value, sizeof(value)),
	                    "https://example.com/\303\244\tb");
	assert_int_equal(http_fixture_count(response.head, "Location"), 1);
	assert_int_equal(http_fixture_count(response.head, "Set-Cookie"), 0);
	http_fixture_stop(&f, 1000);
}

static enum http_progress decorate(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	http_exchange_set_body(x, "text/html", "<p>", 3);
	http_exchange_set_status(x, 201);
	http_exchange_add_fixed_header(x, "X-A", "1");
	assert_int_equal(http_exchange_add_header(x, "x-a", "2"), OK);
	http_exchange_set_body(x, "application/json", "{}", 2);
	return HTTP_COMPLETE;
}

TEST_CASE(sends_what_the_handler_wrote)
{
	struct http_fixture f;
	start(&f, decorate);
	struct http_fixture_response response;
	char value[128];
	http_fixture_request(&f, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", &response);
	assert_int_equal(response.status, 201);
	assert_string_equal(response.body, "{}");
	assert_string_equal(http_fixture_header(&response, "Content-Type", value, sizeof(value)),
	                    "application/json");
	assert_non_null(strstr(response.head, "\r\nX-A: 1\r\n"));
	assert_non_null(strstr(response.head, "\r\nx-a: 2\r\n"));
	assert_true(strlen(http_fixture_header(&response, "Date", value, sizeof(value))) > 20);
	assert_int_equal(http_fixture_count(response.head, "Content-Type"), 1);
	http_fixture_stop(&f, 1000);
}

/* A query asks for other literals. */
static enum http_progress redirect(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	char value[128];
	snprintf(value, sizeof(value), "https://example.com%s", http_exchange_path(x));
	http_exchange_set_status(x, 302);
	http_exchange_add_fixed_header(x, "Cache-Control",
	                               http_exchange_query(x)[0] ? "no-store" : "private");
	assert_int_equal(http_exchange_add_header(x, "Location", value), OK);
	http_exchange_add_fixed_header(x, "X-Robots-Tag", "noindex");
	return HTTP_COMPLETE;
}

/* A loop uses one response for them all. */
TEST_CASE(no_redirect_has_a_header_of_the_one_before)
{
	static const char *const targets[] = { "/a", "/a", "/b", "/long", "/long?q", "/a?q", "/c" };
	static const char *const ids[] = { "", "X-Request-Id: 0123456789abcdef01234567\r\n",
		                           "X-Request-Id: short\r\n" };
	struct http_fixture f;
	struct http_fixture_response response;
	char previous[128] = "";
	start(&f, redirect);
	int fds[] = { http_fixture_connect(&f), http_fixture_connect(&f) };
	for (size_t i = 0; i < 3 * sizeof(targets) / sizeof(targets[0]); i++) {
		char text[256], value[128], id[128];
		const char *target = targets[i / 3], *wanted = ids[i % 3];
		snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: a\r\n%s\r\n", target,
		         wanted);
		assert_true(http_fixture_send_text(fds[i % 2], text));
		http_fixture_read_response(fds[i % 2], true, &response);
		assert_int_equal(response.status, 302);
		http_fixture_header(&response, "Location", value, sizeof(value));
		assert_memory_equal(value, "https://example.com/", 20);
		assert_int_equal(strlen(value), 19 + strcspn(target, "?"));
		assert_memory_equal(value + 19, target, strcspn(target, "?"));
		http_fixture_header(&response, "Cache-Control", value, sizeof(value));
		assert_string_equal(value, strchr(target, '?') ? "no-store" : "private");
		http_fixture_header(&response, "X-Request-Id", id, sizeof(id));
		assert_true(wanted[0] ? strncmp(id, strchr(wanted, ' ') + 1, strlen(id)) == 0
		                      : strlen(id) == 24 && strcmp(id, previous) != 0);
		memcpy(previous, id, sizeof(id));
		struct tm date;
		http_fixture_header(&response, "Date", value, sizeof(value));
		const char *end = strptime(value, "%a, %d %b %Y %H:%M:%S GMT", &date);
		assert_true(end != NULL && *end == '\0');
		/* time() may be a tick behind the clock of the header. */
		assert_in_range(time(NULL) + 1 - timegm(&date), 0, TEST_DEADLINE_US / 1000000);
		static const char *const names[] = {
			"Location", "Cache-Control", "X-Request-Id",
			"Date",     "X-Robots-Tag",  "Content-Length"
		};
		for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++)
			assert_int_equal(http_fixture_count(response.head, names[n]), 1);
	}
	close(fds[0]);
	close(fds[1]);
	http_fixture_stop(&f, 1000);
}

#define FAR_BYTES 8192

static enum http_progress redirect_far(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	char value[FAR_BYTES + 1] = "";
	memset(value, 'f', FAR_BYTES);
	http_exchange_set_status(x, 302);
	assert_int_equal(http_exchange_add_header(x, "Location", value), OK);
	return HTTP_COMPLETE;
}

/* The first request leaves the connection open, unless the library cannot hold both heads. */
TEST_CASE(sends_the_longest_redirect_whatever_the_length_of_the_request)
{
	static const int lens[] = { 100, 2000, 5000, 8100 };
	static char text[32768], response[32768];
	struct http_fixture f;
	start(&f, redirect_far);
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		int fd = http_fixture_connect(&f);
		snprintf(text, sizeof(text),
		         "GET / HTTP/1.1\r\nHost: a\r\nX: %0*d\r\n\r\n"
		         "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
		         lens[i], 0);
		assert_true(http_fixture_send_text(fd, text));
		assert_true(http_fixture_read_to_end(fd, response, sizeof(response),
		                                     HTTP_FIXTURE_DEADLINE_MS));
		const char *location = strstr(response, "Location: ");
		assert_non_null(location);
		assert_int_equal(strspn(location + strlen("Location: "), "f"), FAR_BYTES);
		assert_non_null(strstr(location, "\r\n\r\n"));
		close(fd);
	}
	http_fixture_stop(&f, 1000);
}

static enum http_progress overflow(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	for (unsigned i = 0; i < 200; i++)
		http_exchange_add_fixed_header(x, "X-A", "1");
	return HTTP_COMPLETE;
}

TEST_CASE(sends_500_when_the_response_has_too_many_headers)
{
	struct http_fixture f;
	struct http_fixture_response response;
	struct http_server_config config = http_fixture_config();
	int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct log *log = log_new("test", LOG_ERROR, nowhere);
	config.log = log;
	http_fixture_start(&f, config, overflow);
	http_fixture_request(&f, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", &response);
	assert_int_equal(response.status, 500);
	assert_int_equal(atomic_load(&f.last_status), 500);
	http_fixture_stop(&f, 1000);
	log_free(log);
	close(nowhere);
}

static void check_cookies(struct http_exchange *x)
{
	const char *value;
	assert_int_equal(http_exchange_cookie(x, "a", &value), OK);
	assert_string_equal(value, "1=2");
	assert_int_equal(http_exchange_cookie(x, "empty", &value), OK);
	assert_string_equal(value, "");
	assert_int_equal(http_exchange_cookie(x, "last", &value), OK);
	assert_string_equal(value, "\"x y\"");
	assert_int_equal(http_exchange_cookie(x, "twice", &value), ERR_CONFLICT);
	static const char *const missing[] = { "A", "b", "flag", "1", "aa", "-", "x" };
	for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++)
		assert_int_equal(http_exchange_cookie(x, missing[i], &value), ERR_NOT_FOUND);
}

static enum http_progress check_request(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	assert_string_equal(http_exchange_header(x, "accept"), "text/html");
	assert_null(http_exchange_header(x, "Accept-Language"));
	assert_string_equal(http_exchange_joined_header(x, "x-forwarded-for"),
	                    "203.0.113.1, 10.0.0.1, 10.0.0.2");
	assert_string_equal(http_exchange_joined_header(x, "Accept"), "text/html");
	assert_null(http_exchange_joined_header(x, "X-Nothing"));
	check_cookies(x);
	char ip[CLIENT_IP_TEXT_SIZE];
	struct client_ip peer = http_exchange_peer(x);
	client_ip_format(&peer, ip);
	assert_string_equal(ip, "127.0.0.1");
	int64_t age_us = clock_now_us(clock_system()) - http_exchange_arrived_us(x);
	assert_in_range(age_us, 0, TEST_DEADLINE_US);
	age_us = clock_steady_us(clock_system()) - http_exchange_arrived_steady_us(x);
	assert_in_range(age_us, 0, TEST_DEADLINE_US);
	return HTTP_COMPLETE;
}

TEST_CASE(shows_the_request_to_the_handler)
{
	struct http_fixture f;
	start(&f, check_request);
	struct http_fixture_response response;
	http_fixture_request(
		&f,
		"GET / HTTP/1.1\r\nHost: a\r\nAccept: text/html\r\nX-Forwarded-For: 203.0.113.1\r\n"
		"X-Forwarded-For: 10.0.0.1, 10.0.0.2\r\n"
		"Cookie: a=1=2; twice=1;empty=; flag\r\ncookie: ;; twice=2; last=\"x y\"\r\n\r\n",
		&response);
	assert_int_equal(response.status, 200);
	http_fixture_stop(&f, 1000);
}

static void release_state(void *state)
{
	atomic_fetch_add((_Atomic unsigned *)state, 1);
}

static enum http_progress keep_state(void *ctx, struct http_exchange *x)
{
	struct http_fixture *f = ctx;
	assert_null(http_exchange_state(x));
	http_exchange_set_state(x, &f->last_status, release_state);
	assert_ptr_equal(http_exchange_state(x), &f->last_status);
	return HTTP_COMPLETE;
}

TEST_CASE(releases_the_handler_state_once_per_request)
{
	struct http_fixture f;
	struct http_server_config config = http_fixture_config();
	http_fixture_start(&f, config, keep_state);
	int fd = http_fixture_connect(&f);
	struct http_fixture_response response;
	for (unsigned i = 0; i < 5; i++) {
		assert_true(http_fixture_send_text(fd, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
		http_fixture_read_response(fd, true, &response);
		assert_int_equal(response.status, 200);
	}
	close(fd);
	http_fixture_stop(&f, 1000);
	/* the observer stores 200; the release then adds 1 */
	assert_int_equal(atomic_load(&f.last_status), 201);
}

static enum http_progress send_path_length(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	char text[32];
	snprintf(text, sizeof(text), "%zu", strlen(http_exchange_path(x)));
	http_exchange_set_body(x, "text/plain", text, strlen(text));
	return HTTP_COMPLETE;
}

/* The longer ones leave the library no memory but what it has parsed. */
TEST_CASE(serves_requests_without_headers_whatever_their_length)
{
	static char text[32768], response[32768];
	struct http_fixture f;
	struct http_server_config config = http_fixture_config();
	config.head_bytes_max = 10240;
	config.target_bytes_max = 6400;
	http_fixture_start(&f, config, send_path_length);
	for (int len = 1; len < 6400; len += 61) {
		int fd = http_fixture_connect(&f);
		snprintf(text, sizeof(text), "GET /%0*d HTTP/1.0\r\n\r\n", len, 0);
		assert_true(http_fixture_send_text(fd, text));
		assert_true(http_fixture_read_to_end(fd, response, sizeof(response),
		                                     HTTP_FIXTURE_DEADLINE_MS));
		char wanted[32];
		snprintf(wanted, sizeof(wanted), "\r\n\r\n%d", len + 1);
		assert_string_equal(strstr(response, "\r\n\r\n"), wanted);
		close(fd);
	}
	http_fixture_stop(&f, 1000);
}

TEST_MAIN()
