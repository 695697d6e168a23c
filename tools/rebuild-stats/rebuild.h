/*
 * One thread at a time per connection. Makes statistics and roll-ups say again what the visit log says
 * (rebuild_difference.h: how the two are compared; rebuild_repair.h: how the difference is added), while consumers go
 * on counting; and proves it by looking a second time. Says what it finds on stdout.
 */
#ifndef WAYMARK_TOOLS_REBUILD_STATS_REBUILD_H
#define WAYMARK_TOOLS_REBUILD_STATS_REBUILD_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/net/pg_conn.h"

struct rebuild_options {
	int64_t link_id; /* 0 = all links, and the platform */
	bool check_only;
};

/*
 * OK: everything is equal now. ERR_CONFLICT: it is not (check_only: nothing was changed). ERR_NOT_FOUND: there is no
 * such link. ERR_LIMIT: another rebuild is at work, and has been for two seconds; checks disturb nobody. Anything else:
 * PostgreSQL is away, or refuses; pg_conn_message says why.
 */
enum err rebuild_run(struct pg_conn *conn, const struct rebuild_options *wish) MUST_CHECK;

#endif
