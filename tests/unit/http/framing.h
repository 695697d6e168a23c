/*
 * One thread at a time. For tests: requests whose end is in doubt, plain requests, and a client that
 * sends them in several spellings, whole and in two pieces. The second piece follows when the server
 * has read the first: two responses to plain requests for FRAMING_BARRIER prove it.
 */
#ifndef WAYMARK_TESTS_UNIT_HTTP_FRAMING_H
#define WAYMARK_TESTS_UNIT_HTTP_FRAMING_H

#include "tests/unit/http/http_fixture.h"

#define FRAMING_BARRIER "/robots.txt"

struct framing_report {
	size_t cases;
	/* Answered before their body. */
	size_t unread;
	/* More than one response came. */
	size_t smuggled;
	/* No response came. */
	size_t crashed;
	/* An unexpected response, or the connection stays open or closes against the rule. */
	size_t wrong;
	/* The run ends after it. */
	char first_wrong[2048];
};

/*
 * Each request has a hidden one behind it. It expects exactly one response, with the status of its
 * rule and Connection: close, and the end of the connection. is_redirector: the server rejects
 * chunked bodies of GET, so malformed chunks expect 411, and answers other methods unread, with 404.
 * cuts: at most so many per request.
 */
void framing_send_bad(const struct http_fixture *server, bool is_redirector, size_t cuts,
                      struct framing_report *report);

/*
 * Each request expects 200 with the body "<method> <length of the request's body>" (HEAD: none),
 * and a second response on its connection.
 */
void framing_send_good(const struct http_fixture *server, size_t cuts,
                       struct framing_report *report);

#endif
