/*
 * A policy of the hosts that links may lead to: all hosts except the blocked ones, or, if at least
 * one host is allowed explicitly, only the allowed ones. Blocking wins over allowing.
 *
 * A rule names one host, or a host and all its subdomains:
 *   example.com    that host alone
 *   .example.com   that host and each of its subdomains
 *   203.0.113.7  [2001:db8::7]   an address. It has no subdomains. Its other forms are the
 *                                same host ([::ffff:203.0.113.7], [64:ff9b::203.0.113.7])
 * Names are ASCII in any case (international names as A-labels, "xn--…"). A trailing dot is
 * ignored. A list is a text with one rule per line; "#" begins a comment; empty lines and white
 * space around a rule are ignored.
 *
 * A check reads the host once, from its end, with one look-up per label. Its cost does not depend
 * on the number of rules.
 *
 * Pure. One thread builds a policy; after that any number of threads may use it for checks.
 */
#ifndef WAYMARK_LIB_LINKS_HOST_POLICY_H
#define WAYMARK_LIB_LINKS_HOST_POLICY_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"

#define HOST_POLICY_NAME_MAX 253
#define HOST_POLICY_RULES_MAX 300000

struct host_policy;

enum host_policy_kind { HOST_POLICY_BLOCKLIST = 1, HOST_POLICY_ALLOWLIST = 2 };

enum host_policy_decision {
	HOST_POLICY_ALLOWED,
	HOST_POLICY_BLOCKED,
	HOST_POLICY_NOT_ALLOWED, /* there is an allow list, and it does not have the host */
};

struct host_policy *host_policy_new(void);
/* NULL is allowed. */
void host_policy_free(struct host_policy *policy);

/*
 * rule has len bytes in the form above. ERR_INVALID: not a valid name. ERR_LIMIT: the policy has
 * HOST_POLICY_RULES_MAX names.
 */
enum err host_policy_add(struct host_policy *policy, enum host_policy_kind kind, const char *rule,
                         size_t len) MUST_CHECK;

/*
 * Adds a list. Errors as host_policy_add, with the number of the line (from 1) in *line; the rules
 * before it have been added.
 */
enum err host_policy_add_list(struct host_policy *policy, enum host_policy_kind kind,
                              const char *text, size_t len, size_t *line) MUST_CHECK;

/* The number of distinct names of either kind. */
size_t host_policy_count(const struct host_policy *policy);

/*
 * url is a destination in normal form (http or https). For anything else the host counts as "",
 * which passes unless there is an allow list.
 */
enum host_policy_decision host_policy_check(const struct host_policy *policy, const char *url);

#endif
