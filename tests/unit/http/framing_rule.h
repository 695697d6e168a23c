/*
 * Pure. For tests: rules for requests whose end is in doubt (bad) and for plain requests (good).
 * framing_case.h generates many requests from each rule. Placeholders in the patterns:
 *   $m   the method                     $s   optional white space after a colon
 *   $v   the version, "1.1"             $n   the number of bytes after the head
 */
#ifndef WAYMARK_TESTS_UNIT_HTTP_FRAMING_RULE_H
#define WAYMARK_TESTS_UNIT_HTTP_FRAMING_RULE_H

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

/* The place of a rule's header lines among the others. */
enum framing_place { FRAMING_ANYWHERE, FRAMING_FIRST, FRAMING_LAST };

struct framing_rule {
	const char *name;
	unsigned status; /* the expected status: 200 or an error */
	struct framing_bytes
		line; /* the request line and its end; default "$m /first HTTP/$v\r\n" */
	struct framing_bytes head; /* header lines with their ends */
	struct framing_bytes tail; /* more header lines, which may be apart from those of head */
	struct framing_bytes end;  /* default "\r\n" */
	struct framing_bytes body; /* between the head and the hidden request */
	size_t head_times;         /* repeats head; 0: once */
	size_t target_len;         /* pads the target to this length; 0: no padding */
	enum framing_methods methods;
	enum framing_versions versions;
	enum framing_place place;
	bool has_no_host;    /* no Host except in head and tail */
	bool keeps_spelling; /* header names are used as written */
	bool is_chunked;     /* bad rule: the head is plain, but the chunks are malformed */
	size_t body_len;     /* good rule: length of the body that the handler sees */
};

/* Requests that must be rejected; a hidden request follows each. */
extern const struct framing_rule framing_rules_bad[];
extern const size_t framing_rules_bad_count;

/* Requests that must get 200 and keep their connection. */
extern const struct framing_rule framing_rules_good[];
extern const size_t framing_rules_good_count;

#endif
