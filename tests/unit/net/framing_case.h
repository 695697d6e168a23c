/*
 * Pure. For tests: one request made from a rule, and the ways in which its bytes may arrive. Nothing is drawn by
 * chance: a variant's number stands for one combination of method, version, spelling, white space, order and what else
 * a request may hold, and neighbouring numbers differ in most of them.
 */
#ifndef WAYMARK_TESTS_UNIT_NET_FRAMING_CASE_H
#define WAYMARK_TESTS_UNIT_NET_FRAMING_CASE_H

#include <stdint.h>

#include "lib/base/strbuf.h"
#include "tests/unit/net/framing_rule.h"

#define FRAMING_CASE_BYTES_MAX 65536

/* Whole, or two pieces of which the first has so many bytes, or byte by byte. */
#define FRAMING_WHOLE 0
#define FRAMING_BYTE_BY_BYTE SIZE_MAX

struct framing_case {
	const struct framing_rule *rule;
	const char *method;
	struct strbuf bytes;
	size_t first_piece;
};

/* Makes the variant; behind it stands a hidden request for /hidden if the rule is a bad one. */
void framing_case_make(struct framing_case *c, const struct framing_rule *rule, size_t variant, size_t first_piece);
void framing_case_clear(struct framing_case *c);

/*
 * The next place after at where the bytes may be cut with interest: around separators and line ends, and where a word
 * begins or ends. 0: there is none.
 */
size_t framing_case_next_cut(const struct framing_case *c, size_t at);

/* Of bytes and pieces, to tell cases apart. */
uint64_t framing_case_hash(const struct framing_case *c);

#endif
