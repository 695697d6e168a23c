/*
 * The hosts that links may lead to right now. It combines the operator's files (host_list.h) and
 * the hosts that administrators have blocked (blocked_host_store.h) into one policy
 * (host_policy.h), and rebuilds the policy when one of them changes.
 *
 * A thread checks the table every interval_ms, and every second while PostgreSQL is down. A file is
 * reloaded after it has changed (file_watch.h). So a change takes effect everywhere within two
 * intervals. If a source cannot be read, its last content stays in effect. Checks do not wait for a
 * rebuild.
 *
 * Metrics: waymark_host_rules, waymark_host_files_broken and
 * waymark_blocked_hosts_age_seconds (time since the last successful check of the table).
 *
 * Safe from any thread.
 */
#ifndef WAYMARK_LIB_LINKS_HOST_GUARD_H
#define WAYMARK_LIB_LINKS_HOST_GUARD_H

#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/links/host_policy.h"
#include "lib/postgres/pg_pool.h"

struct host_guard;

struct host_guard_config {
	/* "" = none; borrowed. */
	const char *blocked_file;
	const char *allowed_file;
	/* Borrowed; uses one connection at a time. */
	struct pg_pool *postgres;
	int64_t interval_ms;
	const struct clock *clock;
	const struct log *log;
	struct metrics *metrics;
};

/* Reads the files, then starts a thread that reads the table. ERR_INVALID: a bad file (logged). */
enum err host_guard_start(const struct host_guard_config *config,
                          struct host_guard **out) MUST_CHECK;
/* NULL is allowed. */
void host_guard_stop(struct host_guard *guard);

/* url is a destination in normal form. */
enum host_policy_decision host_guard_check(struct host_guard *guard, const char *url);

/*
 * Checks the table at once, over the caller's connection. Call it after changing the table, so that
 * the caller sees its own change.
 */
void host_guard_refresh(struct host_guard *guard, struct pg_conn *conn);

#endif
