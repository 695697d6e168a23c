/*
 * Pure. Quickly rules out regular expressions that cannot match a text. Nearly every expression of
 * uap-core requires a literal ("Firefox", or one of "iPhone" and "iPad"). Of a thousand rules, a
 * text contains the literals of a few dozen. The prefilter reduces the time for a new text to a
 * tenth.
 *
 * Literals are compared by their trigrams, in lower case, as bits of a small set. A false positive
 * costs only time. An expression that the parser does not fully understand has no prefilter: every
 * text may match.
 *
 *   struct user_agent_prefilter *filter = user_agent_prefilter_new(regex, is_caseless);
 *   user_agent_prefilter_scan(text, len, &scanned);      // once per text
 *   if (user_agent_prefilter_may_match(filter, &scanned))
 *           run the expression
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_FACTS_USER_AGENT_PREFILTER_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_FACTS_USER_AGENT_PREFILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define USER_AGENT_PREFILTER_BITS 4096

/* The alternative literals of an expression: a text that matches contains at least one. */
struct user_agent_prefilter;

/* NULL when any text may match. is_caseless: the expression ignores case. */
struct user_agent_prefilter *user_agent_prefilter_new(const char *regex, bool is_caseless);
void user_agent_prefilter_free(struct user_agent_prefilter *filter);

/* The trigrams of a text. */
struct user_agent_prefilter_text {
	/* Otherwise a letter beyond ASCII may equal an ASCII letter when case is ignored. */
	bool is_ascii;
	uint64_t bits[USER_AGENT_PREFILTER_BITS / 64];
};

void user_agent_prefilter_scan(const char *text, size_t len, struct user_agent_prefilter_text *out);

/* False when the expression cannot match the text. filter may be NULL. */
bool user_agent_prefilter_may_match(const struct user_agent_prefilter *filter,
                                    const struct user_agent_prefilter_text *text);

#endif
