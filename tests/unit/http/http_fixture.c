#include "tests/unit/http/http_fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/strbuf.h"
#include "lib/http/http_problem.h"
#include "tests/support/test.h"

static enum http_progress describe(struct http_exchange *x)
{
	struct strbuf text;
	strbuf_init(&text, 16384);
	strbuf_add_format(&text, "%s %s ?%s", http_exchange_method_name(x), http_exchange_path(x),
	                  http_exchange_query(x));
	http_exchange_set_body(x, "text/plain", text.data, text.len);
	strbuf_clear(&text);
	return HTTP_COMPLETE;
}

static enum http_progress handle(void *ctx, struct http_exchange *x)
{
	struct http_fixture *f = ctx;
	atomic_fetch_add(&f->calls, 1);
	return f->handler != NULL ? f->handler(f, x) : describe(x);
}

static void observe(void *ctx, const struct http_exchange *x, unsigned status, int64_t duration_us)
{
	struct http_fixture *f = ctx;
	assert_non_null(http_exchange_request_id(x));
	assert_true(duration_us >= 0);
	atomic_store(&f->last_status, status);
	atomic_fetch_add(&f->observed, 1);
}

struct http_server_config http_fixture_config(void)
{
	return (struct http_server_config){
		.name = "test",
		.address = "127.0.0.1",
		.loops = 1,
		.workers = 2,
		.worker_queue = 16,
		.connections = 64,
		.body_bytes_max = 16384,
		.header_deadline_ms = 20000,
		.idle_ms = 60000,
		.error_response = http_problem_error_response,
		.clock = clock_system(),
	};
}

void http_fixture_start(struct http_fixture *f, struct http_server_config config,
                        http_handler handler)
{
	*f = (struct http_fixture){ .handler = handler };
	f->log = config.log == NULL ? log_new("test", LOG_ERROR, 2) : NULL;
	config.handler = handle;
	config.observer = observe;
	config.ctx = f;
	if (f->log != NULL)
		config.log = f->log;
	assert_int_equal(http_server_start(&config, &f->server), OK);
	f->port = http_server_port(f->server);
	assert_true(f->port > 0);
}

void http_fixture_stop(struct http_fixture *f, int64_t drain_ms)
{
	http_server_stop(f->server, drain_ms);
	f->server = NULL;
	log_free(f->log);
}

int http_fixture_connect(const struct http_fixture *f)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	struct sockaddr_in to = { .sin_family = AF_INET,
		                  .sin_port = htons(f->port),
		                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	int now = 1; /* otherwise the kernel may merge small pieces */
	assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &now, sizeof(now)), 0);
	return fd;
}

bool http_fixture_send(int fd, const char *bytes, size_t len)
{
	while (len > 0) {
		ssize_t sent = send(fd, bytes, len, MSG_NOSIGNAL);
		if (sent < 0)
			return false;
		bytes += sent;
		len -= (size_t)sent;
	}
	return true;
}

bool http_fixture_send_text(int fd, const char *text)
{
	return http_fixture_send(fd, text, strlen(text));
}

int64_t http_fixture_now_ms(void)
{
	return clock_steady_us(clock_system()) / CLOCK_US_PER_MS;
}

/* Bytes read; 0: the peer has closed (or reset); -1: the deadline has passed. */
static ssize_t read_some(int fd, char *out, size_t size, int64_t until_ms)
{
	int64_t left = until_ms - http_fixture_now_ms();
	struct pollfd entry = { .fd = fd, .events = POLLIN };
	if (left <= 0 || poll(&entry, 1, (int)left) <= 0)
		return -1;
	ssize_t got = recv(fd, out, size, 0);
	return got < 0 ? 0 : got;
}

/* Reads exactly len bytes, fewer if the peer closes. */
static size_t read_exactly(int fd, char *out, size_t len)
{
	int64_t until_ms = http_fixture_now_ms() + HTTP_FIXTURE_DEADLINE_MS;
	size_t have = 0;
	while (have < len) {
		ssize_t got = read_some(fd, out + have, len - have, until_ms);
		if (got < 0)
			fail_msg("no response within %d ms", HTTP_FIXTURE_DEADLINE_MS);
		if (got == 0)
			break;
		have += (size_t)got;
	}
	return have;
}

const char *http_fixture_header(const struct http_fixture_response *response, const char *name,
                                char *out, size_t size)
{
	size_t name_len = strlen(name);
	out[0] = '\0';
	for (const char *line = strstr(response->head, "\r\n"); line != NULL;
	     line = strstr(line + 2, "\r\n")) {
		const char *begin = line + 2;
		if (strncasecmp(begin, name, name_len) == 0 && begin[name_len] == ':') {
			const char *value =
				begin + name_len + 1 + strspn(begin + name_len + 1, " ");
			snprintf(out, size, "%.*s", (int)strcspn(value, "\r"), value);
			break;
		}
	}
	return out;
}

static void read_body(int fd, struct http_fixture_response *response)
{
	char length[32];
	http_fixture_header(response, "Content-Length", length, sizeof(length));
	size_t len = length[0] == '\0' ? 0 : strtoul(length, NULL, 10);
	assert_true(len < sizeof(response->body));
	response->body_len = read_exactly(fd, response->body, len);
	response->body[response->body_len] = '\0';
	assert_int_equal(response->body_len, len);
}

void http_fixture_read_response(int fd, bool has_body, struct http_fixture_response *response)
{
	memset(response, 0, sizeof(*response));
	size_t len = 0;
	while (strstr(response->head, "\r\n\r\n") == NULL) {
		assert_true(len + 1 < sizeof(response->head));
		if (read_exactly(fd, response->head + len, 1) == 0) {
			response->closed = true;
			return;
		}
		len++;
	}
	assert_memory_equal(response->head, "HTTP/1.1 ", 9);
	response->status = (unsigned)strtoul(response->head + 9, NULL, 10);
	if (has_body)
		read_body(fd, response);
}

bool http_fixture_read_to_end(int fd, char *out, size_t size, int64_t deadline_ms)
{
	int64_t until_ms = http_fixture_now_ms() + deadline_ms;
	size_t have = 0;
	out[0] = '\0';
	for (;;) {
		char spill[4096];
		bool full = have + 1 >= size;
		ssize_t got = full ? read_some(fd, spill, sizeof(spill), until_ms)
		                   : read_some(fd, out + have, size - 1 - have, until_ms);
		if (got <= 0)
			return got == 0;
		have += full ? 0 : (size_t)got;
		out[have] = '\0';
	}
}

void http_fixture_request(const struct http_fixture *f, const char *request,
                          struct http_fixture_response *response)
{
	int fd = http_fixture_connect(f);
	assert_true(http_fixture_send_text(fd, request));
	http_fixture_read_response(fd, strncmp(request, "HEAD ", 5) != 0, response);
	close(fd);
}

size_t http_fixture_count(const char *text, const char *part)
{
	size_t count = 0;
	for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part))
		count++;
	return count;
}

bool http_fixture_wait_for(_Atomic unsigned *counter, unsigned wanted)
{
	int64_t until_ms = http_fixture_now_ms() + HTTP_FIXTURE_DEADLINE_MS;
	while (atomic_load(counter) < wanted) {
		if (http_fixture_now_ms() >= until_ms)
			return false;
		poll(NULL, 0, 1);
	}
	return true;
}
