/*
 * Hosts that administrators have blocked: the tables blocked_hosts and blocked_hosts_state. The
 * version in the latter counts every change.
 *
 * One thread at a time per connection.
 */
#ifndef WAYMARK_LIB_LINKS_BLOCKED_HOST_STORE_H
#define WAYMARK_LIB_LINKS_BLOCKED_HOST_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/links/host_policy.h"
#include "lib/postgres/pg_conn.h"

/* All of them must fit into one response; longer lists belong into files. */
#define BLOCKED_HOST_STORE_MAX 3000
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
 * already has BLOCKED_HOST_STORE_MAX hosts.
 */
enum err blocked_host_store_add(struct pg_conn *conn, struct blocked_host *host) MUST_CHECK;

/* Sets host and with_subdomains to those of the deleted row id. ERR_NOT_FOUND: no such host. */
enum err blocked_host_store_delete(struct pg_conn *conn, struct blocked_host *host) MUST_CHECK;

/* Calls on_host for each host, in the order of names. The struct is borrowed for the call. */
typedef void (*blocked_host_callback)(void *ctx, const struct blocked_host *host);
enum err blocked_host_store_list(struct pg_conn *conn, blocked_host_callback on_host,
                                 void *ctx) MUST_CHECK;

enum err blocked_host_store_version(struct pg_conn *conn, int64_t *version) MUST_CHECK;

/* Appends all hosts as a list (host_policy.h) and sets the version that the list belongs to. */
enum err blocked_host_store_read(struct pg_conn *conn, struct strbuf *list,
                                 int64_t *version) MUST_CHECK;

#endif
