/*
 * One thread at a time per connection. Hosts that admins have blocked: the tables blocked_hosts and
 * blocked_hosts_state, whose version counts every change.
 */
#ifndef WAYMARK_LIB_LINKS_BLOCKED_HOST_STORE_H
#define WAYMARK_LIB_LINKS_BLOCKED_HOST_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/links/host_policy.h"
#include "lib/net/pg_conn.h"

#define BLOCKED_HOST_STORE_MAX 3000 /* so that all of them fit into one answer; longer lists are files */
#define BLOCKED_HOST_REASON_CHARS_MAX 200

struct blocked_host {
	int64_t id;
	char host[HOST_POLICY_NAME_MAX + 1]; /* in the normal form of destinations, without a dot at the end */
	bool with_subdomains;
	char reason[BLOCKED_HOST_REASON_CHARS_MAX * 4 + 1];
	int64_t created_at_us;
};

/* Fills id and created_at_us. ERR_CONFLICT: the host is there. ERR_INVALID: there are BLOCKED_HOST_STORE_MAX. */
enum err blocked_host_store_add(struct pg_conn *conn, struct blocked_host *host) MUST_CHECK;

/* ERR_NOT_FOUND: there is none. */
enum err blocked_host_store_delete(struct pg_conn *conn, int64_t id) MUST_CHECK;

/* Told of each, by host; the struct is borrowed for the call. */
typedef void (*blocked_host_visitor)(void *ctx, const struct blocked_host *host);
enum err blocked_host_store_list(struct pg_conn *conn, blocked_host_visitor visit, void *ctx) MUST_CHECK;

enum err blocked_host_store_version(struct pg_conn *conn, int64_t *version) MUST_CHECK;

/* Appends all of them as a list (host_policy.h), and the version that it is of. */
enum err blocked_host_store_read(struct pg_conn *conn, struct strbuf *list, int64_t *version) MUST_CHECK;

#endif
