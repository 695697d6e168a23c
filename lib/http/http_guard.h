/*
 * Pure. Private to the http_* files. The framing guard against request smuggling: libmicrohttpd
 * parses heads leniently and would run a second request that hides in the body of the first. The
 * guard runs before any handler and accepts only heads that have exactly one reading: not two
 * Content-Lengths, Content-Length with Transfer-Encoding, unknown transfer codings,
 * Transfer-Encoding in HTTP/1.0, white space before a colon, two Hosts, or no Host in 1.1.
 *
 * How it works: the library parses in place and overwrites the ends of names, values and lines with
 * NULs. In a plain head its parts therefore lie one after the other and cover each byte from the
 * method to the end of the head. This chain is "method SP target SP version CRLF (name ":" OWS
 * value OWS CRLF)* CRLF". The guard walks it. A bare LF, a folded line, a NUL or a second space breaks
 * the chain, or (libmicrohttpd 1.0) the library rejects it. So would a library version that parses
 * differently: the guard would reject every request, and the tests would fail.
 */
#ifndef WAYMARK_LIB_HTTP_HTTP_GUARD_H
#define WAYMARK_LIB_HTTP_HTTP_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_GUARD_HEADERS_MAX 64
/* A body of GET or HEAD has no meaning (RFC 9110, 9.3.1); a large one is an attack. */
#define HTTP_GUARD_MEANINGLESS_BODY_MAX 1024

struct http_guard_head {
	/* As the library passes them. */
	const char *method, *target, *version;
	/* Before the library cut it at "?". */
	size_t target_len;
	/* Raw: in its own copy the library has turned "+" into spaces. */
	const char *query;
	/* From the method's first byte to the end of the empty line. */
	size_t head_len;
	size_t head_bytes_max;
};

struct http_guard_result {
	/* 0: accepted; else 400 or 431. */
	unsigned status;
	/* A sentence for people. */
	char detail[128];
	/* 0: none. */
	uint64_t content_length;
	/* The body is chunked. */
	bool is_chunked;
	/* The first X-Request-Id; NULL: none. Only with status 0. */
	const char *request_id;
	/* The only one; NULL: none or several. Only with status 0. */
	const char *traceparent;
};

/*
 * Keeps the library from parsing queries and cookies, which we read ourselves: its records of a few
 * hundred take the memory that the response needs. Call it in the callback of the request line,
 * with the raw target. It cuts the library's copy of the target after "?", and adds a header Cookie
 * of its own, which the library finds first.
 */
void http_guard_skip_parsing(void *mhd, const char *target, size_t len);

/* mhd: the library's connection. Call it in the first call of the access handler. */
struct http_guard_result http_guard_check(void *mhd, const struct http_guard_head *head);

/*
 * Character classes of RFC 9110: a token (section 5.6.2, not ""), such as a method or a header's
 * name; a header's value, without control bytes except the tab; a target, without control bytes and
 * spaces; a Host, without what ends a URL's authority, user info, and lists.
 */
bool http_guard_is_token(const char *text, size_t len);
bool http_guard_is_value(const char *text, size_t len);
bool http_guard_is_target(const char *text, size_t len);
bool http_guard_is_host(const char *text, size_t len);

#endif
