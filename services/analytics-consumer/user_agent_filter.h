/*
 * Pure. Tells at a glance that a rule cannot match: nearly every regular expression of uap-core needs some word to be
 * there ("Firefox", or one of "iPhone", "iPad"), and of a thousand rules a text has the words of a few dozen. So a text
 * that was never seen before takes a tenth of the time.
 *
 * Words are compared by their runs of three letters, in lower case, as bits of a small set; what the set lets through
 * by chance is only slower. An expression that is not understood to the last sign lets everything through.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_USER_AGENT_FILTER_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_USER_AGENT_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define USER_AGENT_FILTER_BITS 4096

/* The words that an expression needs, one of them at least. */
struct user_agent_filter;

/* NULL: any text may match. is_caseless: the expression matches letters in any case. */
struct user_agent_filter *user_agent_filter_new(const char *regex, bool is_caseless);
void user_agent_filter_free(struct user_agent_filter *filter);

/* The runs that a text has. */
struct user_agent_filter_text {
	bool is_ascii; /* if not, letters beyond ASCII may equal others in another case */
	uint64_t bits[USER_AGENT_FILTER_BITS / 64];
};

void user_agent_filter_read(const char *text, size_t len, struct user_agent_filter_text *out);

/* False: the expression does not match that text. filter may be NULL. */
bool user_agent_filter_lets_through(const struct user_agent_filter *filter, const struct user_agent_filter_text *text);

#endif
