/*
 * Pure. For tests: generates a request from a rule, and the ways in which its bytes may arrive.
 * Nothing is random. The number of a variant encodes a combination of method, version, spelling,
 * white space, order and other headers; neighbouring numbers differ in most of these.
 */
#ifndef WAYMARK_TESTS_UNIT_HTTP_FRAMING_CASE_H
#define WAYMARK_TESTS_UNIT_HTTP_FRAMING_CASE_H

#include <stdint.h>

#include "lib/base/strbuf.h"
#include "tests/unit/http/framing_rule.h"

#define FRAMING_CASE_BYTES_MAX 65536

/* Values of first_piece: whole, byte by byte, or else the length of the first of two pieces. */
#define FRAMING_WHOLE 0
#define FRAMING_BYTE_BY_BYTE SIZE_MAX

struct framing_case {
	const struct framing_rule *rule;
	const char *method;
	struct strbuf bytes;
	size_t first_piece;
};

/* Generates a variant. A bad rule gets a hidden request for /hidden behind it. */
void framing_case_make(struct framing_case *c, const struct framing_rule *rule, size_t variant,
                       size_t first_piece);
void framing_case_clear(struct framing_case *c);

/*
 * The next offset after at where a cut may expose a bug: at separators and line ends, and where a
 * word begins or ends. 0: there is none.
 */
size_t framing_case_next_cut(const struct framing_case *c, size_t at);

/* A hash of bytes and pieces, to count distinct cases. */
uint64_t framing_case_hash(const struct framing_case *c);

#endif
