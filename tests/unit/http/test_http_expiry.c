/* Connections that end: slow readers, peers that have gone, and connections beyond the limit. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
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

static void count_release(void *state)
{
	atomic_fetch_add((_Atomic unsigned *)state, 1);
}

static char large_page[32U << 20];

static enum http_progress send_large_page(void *ctx, struct http_exchange *x)
{
	struct http_fixture *f = ctx;
	http_exchange_set_state(x, &f->last_status, count_release);
	http_exchange_set_fixed_body(x, "text/plain", large_page, sizeof(large_page));
	return HTTP_COMPLETE;
}

TEST_CASE(closes_a_client_that_does_not_read_its_response)
{
	struct http_server_config config = http_fixture_config();
	config.idle_ms = 500;
	struct http_fixture f;
	http_fixture_start(&f, config, send_large_page);
	int fd = http_fixture_connect(&f);
	assert_true(http_fixture_send_text(fd, ASK));
	assert_true(http_fixture_wait_for(&f.observed, 1));
	assert_true(http_fixture_wait_for(&f.last_status,
	                                  201)); /* the observer's 200, and the release */
	close(fd);
	http_fixture_stop(&f, 1000);
}

/* Reads one byte at a time, far below the rate. */
TEST_CASE(closes_a_client_that_reads_its_response_slowly)
{
	struct http_server_config config = http_fixture_config();
	config.idle_ms = 10L * HTTP_FIXTURE_DEADLINE_MS;
	config.send_check_ms = 100;
	config.send_bytes_min = 1U << 20;
	struct http_fixture f;
	http_fixture_start(&f, config, send_large_page);
	int fd = http_fixture_connect(&f);
	assert_true(http_fixture_send_text(fd, ASK));
	assert_true(http_fixture_wait_for(&f.observed, 1));
	int64_t until_ms = http_fixture_now_ms() + HTTP_FIXTURE_DEADLINE_MS;
	while (atomic_load(&f.last_status) != 201) {
		char byte;
		assert_int_equal(recv(fd, &byte, 1, 0), 1);
		assert_true(http_fixture_now_ms() < until_ms);
		poll(NULL, 0, 1);
	}
	close(fd);
	http_fixture_stop(&f, 1000);
}

/* The bytes and the FIN travel in one segment. */
static void send_and_half_close(int fd, const char *text)
{
	int on = 1;
	assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_CORK, &on, sizeof(on)), 0);
	assert_true(http_fixture_send_text(fd, text));
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
}

static struct http_server_config config_without_deadlines(void)
{
	struct http_server_config config = http_fixture_config();
	config.header_deadline_ms = config.idle_ms = 10L * HTTP_FIXTURE_DEADLINE_MS;
	return config;
}

TEST_CASE(closes_a_half_closed_connection_with_an_incomplete_request)
{
	static const char *const beginnings[] = {
		"", "GET / HT", "GET / HTTP/1.1\r\nHost: a\r\nX",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\na",
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\na"
	};
	struct http_fixture f;
	http_fixture_start(&f, config_without_deadlines(), NULL);
	for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++) {
		char response[16];
		int fd = http_fixture_connect(&f);
		send_and_half_close(fd, beginnings[i]);
		assert_true(
			closes_within(fd, HTTP_FIXTURE_DEADLINE_MS, response, sizeof(response)));
		assert_string_equal(response, "");
		close(fd);
	}
	assert_int_equal(atomic_load(&f.calls), 0);
	http_fixture_stop(&f, 1000);
}

static enum http_progress answer_on_worker(void *ctx, struct http_exchange *x)
{
	(void)ctx;
	if (!http_exchange_is_on_worker(x))
		return HTTP_NEEDS_WORKER;
	http_exchange_set_fixed_body(x, "text/plain", "small", 5);
	return HTTP_COMPLETE;
}

TEST_CASE(answers_a_half_closed_connection_and_closes_it)
{
	static const http_handler handlers[] = { NULL, answer_on_worker };
	static const char *const requests[] = { ASK, ASK ASK ASK, ASK ASK "GET / HT" };
	static const unsigned counts[] = { 1, 3, 2 };
	for (size_t h = 0; h < 2; h++) {
		struct http_fixture f;
		http_fixture_start(&f, config_without_deadlines(), handlers[h]);
		for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
			char responses[4096];
			int fd = http_fixture_connect(&f);
			send_and_half_close(fd, requests[i]);
			assert_true(closes_within(fd, HTTP_FIXTURE_DEADLINE_MS, responses,
			                          sizeof(responses)));
			assert_int_equal(http_fixture_count(responses, "HTTP/1.1 200"), counts[i]);
			close(fd);
		}
		http_fixture_stop(&f, 1000);
	}
}

/*
 * Connects and sends a request. True: it got a response; false: the server closed at once. *fd
 * stays open.
 */
static bool is_admitted(const struct http_fixture *f, int *fd)
{
	struct http_fixture_response response;
	*fd = http_fixture_connect(f);
	if (!http_fixture_send_text(*fd, ASK))
		return false;
	http_fixture_read_response(*fd, true, &response);
	return response.status == 200;
}

/* No connection is evicted while it has input that the server is about to read. */
static int connect_until_admitted(const struct http_fixture *f)
{
	int fd;
	int64_t until_ms = http_fixture_now_ms() + HTTP_FIXTURE_DEADLINE_MS;
	while (!is_admitted(f, &fd)) {
		close(fd);
		assert_true(http_fixture_now_ms() < until_ms);
	}
	return fd;
}

static void check_ceiling(struct http_server_config config, unsigned ceiling)
{
	struct http_fixture f;
	http_fixture_start(&f, config, NULL);
	int *fds = mem_array(ceiling + 1, sizeof(int));
	for (unsigned i = 0; i < ceiling; i++)
		assert_true(is_admitted(&f, &fds[i]));
	assert_false(is_admitted(&f, &fds[ceiling]));
	close(fds[ceiling]);
	close(fds[0]); /* frees one place */
	fds[0] = connect_until_admitted(&f);
	for (unsigned i = 0; i < ceiling; i++)
		close(fds[i]);
	free(fds);
	http_fixture_stop(&f, 1000);
}

#define PLACES 4

/* A server with a few places, whose deadlines are beyond those of the tests. */
static struct http_server_config config_with_few_places(void)
{
	struct http_server_config config = http_fixture_config();
	config.connections = PLACES;
	config.header_deadline_ms = config.idle_ms = config.send_check_ms =
		10L * HTTP_FIXTURE_DEADLINE_MS;
	return config;
}

/* Takes every place with a connection that has sent text. */
static void take_every_place(const struct http_fixture *f, const char *text, int fds[PLACES])
{
	for (unsigned i = 0; i < PLACES; i++) {
		fds[i] = http_fixture_connect(f);
		assert_true(http_fixture_send_text(fds[i], text));
	}
}

/* Clients come one after the other, so each can be evicted for the next. */
static void assert_serves_others(const struct http_fixture *f)
{
	int fds[3 * PLACES];
	for (unsigned i = 0; i < 3 * PLACES; i++)
		fds[i] = connect_until_admitted(f);
	for (unsigned i = 0; i < 3 * PLACES; i++)
		close(fds[i]);
}

static void close_all(const int fds[PLACES])
{
	for (unsigned i = 0; i < PLACES; i++)
		close(fds[i]);
}

TEST_CASE(evicts_the_longest_idle_connection_for_a_new_one)
{
	struct http_fixture f;
	struct http_fixture_response response;
	char rest[16];
	int fds[PLACES], new;
	http_fixture_start(&f, config_with_few_places(), NULL);
	for (unsigned i = 0; i < PLACES; i++)
		assert_true(is_admitted(&f, &fds[i]));
	assert_true(is_admitted(&f, &new));
	assert_true(closes_within(fds[0], HTTP_FIXTURE_DEADLINE_MS, rest, sizeof(rest)));
	for (unsigned i = 1; i < PLACES; i++) {
		assert_true(http_fixture_send_text(fds[i], ASK));
		http_fixture_read_response(fds[i], true, &response);
		assert_int_equal(response.status, 200);
	}
	assert_serves_others(&f);
	close(new);
	close_all(fds);
	http_fixture_stop(&f, 1000);
}

TEST_CASE(evicts_a_slow_request_for_a_new_connection)
{
	static const char *const beginnings[] = {
		"", "GET / HT", "GET / HTTP/1.1\r\nX: ",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 500\r\n\r\na"
	};
	for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++) {
		struct http_fixture f;
		int fds[PLACES];
		http_fixture_start(&f, config_with_few_places(), NULL);
		take_every_place(&f, beginnings[i], fds);
		assert_serves_others(&f);
		close_all(fds);
		http_fixture_stop(&f, 1000);
	}
}

static enum http_progress send_large_page_at_large(void *ctx, struct http_exchange *x)
{
	struct http_fixture *f = ctx;
	if (strcmp(http_exchange_path(x), "/large") == 0)
		return send_large_page(f, x);
	http_exchange_set_fixed_body(x, "text/plain", "small", 5);
	return HTTP_COMPLETE;
}

TEST_CASE(evicts_a_slow_reader_for_a_new_connection)
{
	struct http_fixture f;
	int fds[PLACES];
	http_fixture_start(&f, config_with_few_places(), send_large_page_at_large);
	take_every_place(&f, "GET /large HTTP/1.1\r\nHost: a\r\n\r\n", fds);
	assert_true(http_fixture_wait_for(&f.observed, PLACES));
	assert_serves_others(&f);
	/* A reset, before it has read anything: the system keeps no response for it. */
	struct pollfd evicted = { .fd = fds[0] };
	assert_int_equal(poll(&evicted, 1, HTTP_FIXTURE_DEADLINE_MS), 1);
	assert_true((evicted.revents & POLLERR) != 0);
	close_all(fds);
	http_fixture_stop(&f, 0);
}

struct pending_fixture {
	/* First: the handler's ctx. */
	struct http_fixture f;
	struct http_exchange *pending[PLACES];
};

static enum http_progress keep_pending(void *ctx, struct http_exchange *x)
{
	struct pending_fixture *p = ctx;
	p->pending[atomic_load(&p->f.calls) - 1] = x;
	return HTTP_PENDING;
}

/* A handler at work never loses its connection. */
TEST_CASE(refuses_connections_while_every_one_is_busy)
{
	struct pending_fixture p = { 0 };
	int fds[PLACES], refused;
	http_fixture_start(&p.f, config_with_few_places(), keep_pending);
	for (unsigned i = 0; i < PLACES; i++) {
		fds[i] = http_fixture_connect(&p.f);
		assert_true(http_fixture_send_text(fds[i], ASK));
		assert_true(http_fixture_wait_for(&p.f.calls, i + 1));
	}
	assert_false(is_admitted(&p.f, &refused));
	for (unsigned i = 0; i < PLACES; i++) {
		struct http_fixture_response response;
		http_exchange_resume(p.pending[i]);
		http_fixture_read_response(fds[i], true, &response);
		assert_int_equal(response.status, 200);
	}
	close(refused);
	close_all(fds);
	http_fixture_stop(&p.f, 1000);
}

TEST_CASE(rejects_connections_above_the_ceiling_of_an_address)
{
	struct http_server_config config = http_fixture_config();
	config.connections_per_ip = 3;
	check_ceiling(config, 3);
}

TEST_CASE(does_not_limit_trusted_proxies)
{
	struct client_ip_ranges trusted;
	assert_int_equal(client_ip_ranges_parse("127.0.0.0/8", &trusted), OK);
	struct http_server_config config = http_fixture_config();
	config.connections_per_ip = 3;
	config.trusted = &trusted;
	struct http_fixture f;
	http_fixture_start(&f, config, NULL);
	int fds[8];
	for (unsigned i = 0; i < 8; i++)
		assert_true(is_admitted(&f, &fds[i]));
	for (unsigned i = 0; i < 8; i++)
		close(fds[i]);
	http_fixture_stop(&f, 1000);
}

TEST_MAIN()
