/*
 * Pure. Private to the http_* files: the framing guard. libmicrohttpd reads heads generously and would execute a
 * second request that hides in the first one's body; this check comes before any handler and trusts only heads that
 * can be read in one way.
 *
 * The library parses in place: it overwrites the ends of names, values and lines with NULs. So in a plain head its
 * pieces lie one after the other and account for each byte between the method and the end of the head: "method SP
 * target SP version CRLF (name ":" OWS value CRLF)* CRLF". The guard walks this chain. A bare LF, a folded line, a
 * NUL or a second space breaks it, and so would a version of the library that parses differently: then every request
 * is refused, and the tests say so.
 */
#ifndef WAYMARK_LIB_NET_HTTP_GUARD_H
#define WAYMARK_LIB_NET_HTTP_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_GUARD_QUERY_PAIRS_MAX 64
#define HTTP_GUARD_HEADERS_MAX 64
/* A body of GET or HEAD means nothing (RFC 9110, 9.3.1): a client that sends one is odd, a larger one is hostile. */
#define HTTP_GUARD_MEANINGLESS_BODY_MAX 1024

struct http_guard_head {
	const char *method, *target, *version; /* as the library hands them over */
	size_t target_len;                     /* before it was cut at its "?" */
	const char *query; /* as it arrived: in the target, the library has turned "+" into spaces */
	size_t head_len;   /* from the method's first byte to the end of the empty line */
	size_t head_bytes_max;
};

struct http_guard_verdict {
	unsigned status;         /* 0: go on; else 400 or 431 */
	const char *detail;      /* a sentence for people */
	uint64_t content_length; /* 0: none was given */
	bool is_chunked;         /* the body comes in chunks */
	const char *request_id;  /* X-Request-Id, the first one; NULL: none was given. Only with status 0 */
	const char *traceparent; /* the only one; NULL: none was given, or several. Only with status 0 */
};

/*
 * Whether the library should go on reading a request with this target, of at most max bytes: its records of a query's
 * pairs take memory that the answer needs. False: 414.
 */
bool http_guard_takes_target(const char *target, size_t len, size_t max);

/* mhd: the library's connection, in the first call of its access handler. */
struct http_guard_verdict http_guard_check(void *mhd, const struct http_guard_head *head);

#endif
