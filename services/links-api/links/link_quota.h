/*
 * One thread at a time, as its request. How many links a user may still create: LINKS_PER_DAY in 24 hours, or his own
 * number, which an administrator sets. Counted in steps of five minutes (link_quota_store.h), never to the user's
 * advantage.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_QUOTA_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_QUOTA_H

#include <stdint.h>

#include "lib/net/pg_conn.h"
#include "services/links-api/rate_limit.h"
#include "services/links-api/request.h"

struct link_quota {
	struct rate_limit_rule rule; /* max 0: no limit */
	struct rate_limit_state state;
};

/*
 * In the transaction that creates links, before they are: what the caller has left. With a limit his account stays
 * locked until the end, so that two requests cannot both be the last one; must_lock: in any case. ERR_NOT_FOUND: the
 * account is gone.
 */
enum err link_quota_read(const struct request *r, struct pg_conn *conn, bool must_lock,
                         struct link_quota *out) MUST_CHECK;

/* In the same transaction: so many links were created. At most state.left, if there is a limit. */
enum err link_quota_use(const struct request *r, struct pg_conn *conn, struct link_quota *quota,
                        int64_t links) MUST_CHECK;

#endif
