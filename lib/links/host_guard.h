/*
 * The hosts that links may lead to right now. It combines the operator's files and the hosts that
 * administrators have blocked into one policy (host_policy.h), and rebuilds the policy when one of
 * them changes. A file is a list (host_policy.h) of at most
 * HOST_GUARD_FILE_BYTES_MAX and HOST_GUARD_FILE_RULES_MAX hosts; one invalid line makes it invalid
 * as a whole, and so does a list of allowed hosts without any: an emptied file must not disable
 * every link.
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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/env.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/base/strbuf.h"
#include "lib/links/host_policy.h"
#include "lib/postgres/pg_conn.h"
#include "lib/postgres/pg_pool.h"

#define HOST_GUARD_FILE_BYTES_MAX ((size_t)8 * 1024 * 1024)
#define HOST_GUARD_FILE_RULES_MAX 100000

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

/*
 * The rows of the host files in a service's table of variables (lib/base/env.h), and their check.
 * The members of each struct config have the names used here. Returns the number of problems.
 */
#define HOST_GUARD_VARS(config_)                                                                   \
	ENV_TEXT("BLOCKED_HOSTS_FILE", config_, blocked_hosts_file, "",                            \
	         "file of blocked destination hosts, one per line: example.com or .example.com; "  \
	         "extends the administrators' list"),                                              \
		ENV_TEXT("ALLOWED_HOSTS_FILE", config_, allowed_hosts_file, "",                    \
	                 "file of the only allowed destination hosts; empty = all hosts"),         \
		ENV_INT("HOSTS_CHECK_MS", config_, hosts_check_ms, "10000", 100, 60000,            \
	                "how often the host files and the table of blocked hosts are reloaded")
size_t host_guard_check_files(const char *blocked, const char *allowed, struct strbuf *problems);

/*
 * Hosts that administrators have blocked: the tables blocked_hosts and blocked_hosts_state, whose
 * version counts every change. One thread at a time per connection.
 */
/* All of them must fit into one response; longer lists belong into files. */
#define HOST_GUARD_BLOCKED_MAX 3000
#define BLOCKED_HOST_REASON_CHARS_MAX 200

struct blocked_host {
	int64_t id;
	/* Normal form, no trailing dot. */
	char host[HOST_POLICY_NAME_MAX + 1];
	bool with_subdomains;
	char reason[BLOCKED_HOST_REASON_CHARS_MAX * 4 + 1];
	int64_t created_at_us;
};

/*
 * Sets id and created_at_us. ERR_CONFLICT: the host is already blocked. ERR_INVALID: the table
 * already has HOST_GUARD_BLOCKED_MAX hosts.
 */
enum err host_guard_blocked_add(struct pg_conn *conn, struct blocked_host *host) MUST_CHECK;

/* Sets host and with_subdomains to those of the deleted row id. ERR_NOT_FOUND: no such host. */
enum err host_guard_blocked_delete(struct pg_conn *conn, struct blocked_host *host) MUST_CHECK;

/* Calls on_host for each host, in the order of names. The struct is borrowed for the call. */
typedef void (*blocked_host_callback)(void *ctx, const struct blocked_host *host);
enum err host_guard_blocked_list(struct pg_conn *conn, blocked_host_callback on_host,
                                 void *ctx) MUST_CHECK;

#endif
