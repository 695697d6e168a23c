/*
 * One thread at a time. For tests: sends framing cases to a server with one loop over many
 * connections at once, and checks the responses. It sends a piece only after the server has read
 * the piece before. As a barrier, plain requests for /robots.txt follow each round of pieces; two
 * responses to them prove that the loop has read the round.
 */
#ifndef WAYMARK_TESTS_UNIT_HTTP_FRAMING_RUNNER_H
#define WAYMARK_TESTS_UNIT_HTTP_FRAMING_RUNNER_H

#include "tests/unit/http/framing_case.h"
#include "tests/unit/http/http_fixture.h"

#define FRAMING_RUNNER_BARRIER "/robots.txt"

/* At most HTTP_LINGER_MAX, so that a server can linger on all connections at once. */
#define FRAMING_RUNNER_SIZE 32

struct framing_report {
	size_t cases, distinct;
	size_t whole, in_two, byte_by_byte;
	size_t smuggled; /* more than one response came */
	size_t crashed;  /* no response at all */
	size_t wrong; /* an unexpected response, or the connection stays open or closes against the
	                 rule */
	char first_wrong[2048]; /* the run ends after a few wrong cases */
};

/*
 * Runs all rules. A bad rule expects exactly one response, with the rule's status and Connection:
 * close, and then the end of the connection. A good rule expects 200 with the body "<method>
 * <length of the request's body>" (HEAD: none), and a second response on the same connection.
 * needs_length: the server rejects chunked bodies, so malformed chunks expect 411. variants: the
 * number of whole requests per rule; a fourth as many are sent byte by byte, and one request is cut
 * at each offset of framing_case_next_cut.
 */
void framing_runner_run(const struct http_fixture *server, bool needs_length,
                        const struct framing_rule *rules, size_t rule_count, size_t variants,
                        struct framing_report *report);

#endif
