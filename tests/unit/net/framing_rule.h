/*
 * Pure. For tests: what makes the end of a request doubtful, and what does not. Each rule is a pattern from which
 * framing_case.h makes many requests. In the patterns stand
 *   $m   the method                     $s   white space that may stand after a colon
 *   $v   the version, "1.1"             $n   the number of bytes after the head
 */
#ifndef WAYMARK_TESTS_UNIT_NET_FRAMING_RULE_H
#define WAYMARK_TESTS_UNIT_NET_FRAMING_RULE_H

#include <stdbool.h>
#include <stddef.h>

struct framing_bytes {
	const char *at;
	size_t len;
};

enum framing_methods {
	FRAMING_ANY_METHOD,
	FRAMING_BODILESS, /* GET and HEAD */
	FRAMING_BODIED,   /* all others */
};

enum framing_versions { FRAMING_ANY_VERSION, FRAMING_1_0, FRAMING_1_1 };

/* Where the lines of a rule stand among the others. */
enum framing_place { FRAMING_ANYWHERE, FRAMING_FIRST, FRAMING_LAST };

struct framing_rule {
	const char *name;
	unsigned status;           /* what is due: 200, or a refusal */
	struct framing_bytes line; /* the request line and its end; nothing: "$m /first HTTP/$v\r\n" */
	struct framing_bytes head; /* header lines with their ends */
	struct framing_bytes tail; /* more of them, which may stand apart from those of head */
	struct framing_bytes end;  /* nothing: "\r\n" */
	struct framing_bytes body; /* between the head and the hidden request */
	size_t head_times;         /* head that many times; 0: once */
	size_t target_len;         /* a target of so many bytes; 0: that of the line */
	enum framing_methods methods;
	enum framing_versions versions;
	enum framing_place place;
	bool has_no_host;    /* no Host but those of head and tail */
	bool keeps_spelling; /* of its names */
	bool is_chunked;     /* of a bad rule: the head is plain, the chunks are not */
	size_t takes;        /* of a good rule: bytes of the body as the handler gets it */
};

/* Requests that must be refused: a hidden one follows them. */
extern const struct framing_rule framing_rules_bad[];
extern const size_t framing_rules_bad_count;

/* Requests that must be answered, and the connection kept. */
extern const struct framing_rule framing_rules_good[];
extern const size_t framing_rules_good_count;

#endif
