/*
 * One thread at a time. For tests: sends framing cases to a server with one loop, many connections at once, and looks
 * at what comes back. A piece is only sent after the server has read the one before it: a plain request for
 * /robots.txt, which is sent after each round of pieces, has then been answered twice.
 */
#ifndef WAYMARK_TESTS_UNIT_NET_FRAMING_CROWD_H
#define WAYMARK_TESTS_UNIT_NET_FRAMING_CROWD_H

#include "tests/unit/net/framing_case.h"
#include "tests/unit/net/http_fixture.h"

#define FRAMING_CROWD_BARRIER "/robots.txt"

/* Lets a server that closes linger on all of them at once. */
#define FRAMING_CROWD_SIZE 32

struct framing_report {
	size_t cases, distinct;
	size_t whole, in_two, byte_by_byte;
	size_t smuggled; /* more than one answer came */
	size_t crashed;  /* nothing was answered at all */
	size_t wrong;    /* any other answer than the one that is due, or a connection that stays open or is closed */
	char first_wrong[2048]; /* and after a few of them the rest is not tried */
};

/*
 * Bad: exactly one answer, of the rule's status, with Connection: close, and the end of the connection. Good: 200, with
 * a body "<method> <length of the request's body>" (HEAD: none), and a second request is answered on the same
 * connection. needs_length: the server takes no chunks at all, so that 411 is due to those that are wrong. variants:
 * whole ones per rule, and a fourth as many byte by byte; besides, one that is cut at each interesting byte.
 */
void framing_crowd_try(const struct http_fixture *server, bool needs_length, const struct framing_rule *rules,
                       size_t rule_count, size_t variants, struct framing_report *report);

#endif
