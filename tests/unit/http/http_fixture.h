/*
 * One thread at a time. For tests: an HTTP server on loopback with a handler of the test, and a
 * client that sends raw bytes. Every wait has a deadline.
 */
#ifndef WAYMARK_TESTS_UNIT_HTTP_HTTP_FIXTURE_H
#define WAYMARK_TESTS_UNIT_HTTP_HTTP_FIXTURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/http/http_server.h"

#define HTTP_FIXTURE_DEADLINE_MS 300000

struct http_fixture {
	struct http_server *server;
	struct log *log;
	uint16_t port;
	/* Of the handler. */
	_Atomic unsigned calls;
	/* Responses reported to the observer. */
	_Atomic unsigned observed;
	_Atomic unsigned last_status;
	http_handler handler;
};

/*
 * A configuration to adapt and pass to http_fixture_start: 2 workers, 64 connections, long
 * deadlines, no metrics. log NULL: errors go to stderr.
 */
struct http_server_config http_fixture_config(void);

/*
 * Starts the server, or fails the test. The fixture is the handler's ctx. handler NULL: 200 with
 * method, path and query as the body, "GET /a ?b=1".
 */
void http_fixture_start(struct http_fixture *f, struct http_server_config config,
                        http_handler handler);
void http_fixture_stop(struct http_fixture *f, int64_t drain_ms);

/* Connects to the server, or fails the test. */
int http_fixture_connect(const struct http_fixture *f);

/* Sends everything. False: the peer has closed. */
bool http_fixture_send(int fd, const char *bytes, size_t len);
bool http_fixture_send_text(int fd, const char *text);

struct http_fixture_response {
	/* 0: no response. */
	unsigned status;
	/* The connection ended after it. */
	bool closed;
	char head[8192];
	char body[65536];
	size_t body_len;
};

/* Reads one response; has_body is false after a HEAD request. Fails the test at the deadline. */
void http_fixture_read_response(int fd, bool has_body, struct http_fixture_response *response);

/*
 * Reads until the peer closes, at most size - 1 bytes, and adds a NUL. False: still open at the
 * deadline.
 */
bool http_fixture_read_to_end(int fd, char *out, size_t size, int64_t deadline_ms);

/* Connects, sends, reads one response, closes. */
void http_fixture_request(const struct http_fixture *f, const char *request,
                          struct http_fixture_response *response);

/* Copies the value of a response header to out; "" if there is none. Returns out. */
const char *http_fixture_header(const struct http_fixture_response *response, const char *name,
                                char *out, size_t size);

size_t http_fixture_count(const char *text, const char *part);

/* Waits until *counter is at least wanted; false at the deadline. */
bool http_fixture_wait_for(_Atomic unsigned *counter, unsigned wanted);

int64_t http_fixture_now_ms(void);

#endif
