/*
 * Safe from any thread. Which hosts links may lead to as of now: what the operator's files say (host_list.h) and what
 * admins have blocked (blocked_host_store.h), as one policy (host_policy.h) that is made anew when one of them changes.
 *
 * The table is looked at every interval_ms, and every second while PostgreSQL is away; a file is read again when it has
 * changed and stood still (file_watch.h). A change is therefore known everywhere after two intervals. What cannot be
 * read changes nothing: the list that was read last goes on, and so does a judgement while another policy is made.
 *
 * Metrics: waymark_host_rules, waymark_host_files_read_total, waymark_host_files_broken, and
 * waymark_blocked_hosts_age_seconds, since the table was last seen.
 */
#ifndef WAYMARK_LIB_LINKS_HOST_GUARD_H
#define WAYMARK_LIB_LINKS_HOST_GUARD_H

#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/links/host_policy.h"
#include "lib/net/pg_pool.h"

struct host_guard;

struct host_guard_config {
	const char *blocked_file; /* "" = none; borrowed */
	const char *allowed_file;
	struct pg_pool *postgres; /* borrowed; one connection at a time */
	int64_t interval_ms;
	const struct clock *clock;
	const struct log *log;
	struct metrics *metrics;
};

/* Reads the files, and the table in a thread of its own. ERR_INVALID: a file cannot be used (logged). */
enum err host_guard_start(const struct host_guard_config *config, struct host_guard **out) MUST_CHECK;
/* NULL is allowed. */
void host_guard_stop(struct host_guard *guard);

/* url: a destination in its normal form. */
enum host_policy_verdict host_guard_judge(struct host_guard *guard, const char *url);

/* Looks at the table at once, over a connection of the caller's: who has changed it sees its change. */
void host_guard_look(struct host_guard *guard, struct pg_conn *conn);

#endif
