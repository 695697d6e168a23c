/*
 * Pure; a policy is made by one thread, and judged by any number of them once it is complete. Hosts that links may lead
 * to: all but the blocked ones, or, as soon as one is named as allowed, only those. Who is both is blocked.
 *
 * A rule names one host, or one and everything below it:
 *   example.com    that host alone
 *   .example.com   that host and each of its subdomains
 *   203.0.113.7  [2001:db8::7]   an address; it has nothing below it, and its other forms are the same host
 *                                ([::ffff:203.0.113.7], [64:ff9b::203.0.113.7])
 * Names are ASCII (an international one as its A-labels, "xn--…") in any case, a dot at their end means nothing. A list
 * is a text of rules, one a line; "#" begins a comment, empty lines and white space around a rule are ignored.
 *
 * A judgement reads the host once, from its end, and looks up as many names as it has labels: its cost does not depend
 * on the number of rules.
 */
#ifndef WAYMARK_LIB_LINKS_HOST_POLICY_H
#define WAYMARK_LIB_LINKS_HOST_POLICY_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"

#define HOST_POLICY_NAME_MAX 253
#define HOST_POLICY_RULES_MAX 300000

struct host_policy;

enum host_policy_kind { HOST_POLICY_BLOCK = 1, HOST_POLICY_ALLOW = 2 };

enum host_policy_verdict {
	HOST_POLICY_GOOD,
	HOST_POLICY_BLOCKED,
	HOST_POLICY_NOT_ALLOWED, /* others are, and it is none of them */
};

struct host_policy *host_policy_new(void);
/* NULL is allowed. */
void host_policy_free(struct host_policy *policy);

/* rule: len bytes as above. ERR_INVALID: no such name. ERR_LIMIT: there are HOST_POLICY_RULES_MAX. */
enum err host_policy_add(struct host_policy *policy, enum host_policy_kind kind, const char *rule,
                         size_t len) MUST_CHECK;

/* A list. Errors as host_policy_add, with the number of the line (from 1); rules above it have been added. */
enum err host_policy_add_list(struct host_policy *policy, enum host_policy_kind kind, const char *text, size_t len,
                              size_t *line) MUST_CHECK;

/* Different names, whatever they are there for. */
size_t host_policy_count(const struct host_policy *policy);

/* url: a destination in its normal form (http or https). What is none has the host "", which only blocking lets pass. */
enum host_policy_verdict host_policy_judge(const struct host_policy *policy, const char *url);

#endif
