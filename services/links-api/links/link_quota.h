/*
 * One thread at a time, as its request. The quota of links that a user may create in 24 hours:
 * LINKS_PER_DAY, or a limit that an administrator sets for the user. Creations are counted in
 * intervals of five minutes, rounded so that a user never gets more than the limit. Deleted links
 * still count.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_QUOTA_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_QUOTA_H

#include <stdint.h>

#include "lib/http/http_server.h"
#include "lib/postgres/pg_conn.h"
#include "services/links-api/http/rate_limit.h"
#include "services/links-api/http/request.h"

struct link_quota {
	/* Max ENV_UNLIMITED = no limit; state.left is then as large. */
	struct rate_limit_rule rule;
	struct rate_limit_state state;
};

/*
 * HTTP handler; ctx is the struct request. GET /api/links/quota → 200 {limit, left, reset_s}, all
 * null without a limit. Clients ask before they send more links than may be created.
 */
enum http_progress link_quota_get(void *ctx, struct http_exchange *x);

/*
 * Reads what the caller has left. Call in the transaction that creates links, before they are
 * created. With a limit, the user's row stays locked until the transaction ends, so that two
 * requests cannot both use the last link; must_lock locks it in any case. ERR_NOT_FOUND: the
 * account no longer exists.
 */
enum err link_quota_read(const struct request *r, struct pg_conn *conn, bool must_lock,
                         struct link_quota *out) MUST_CHECK;

/* Counts created links, in the same transaction. With a limit, links must not exceed state.left. */
enum err link_quota_use(const struct request *r, struct pg_conn *conn, struct link_quota *quota,
                        int64_t links) MUST_CHECK;

#endif
