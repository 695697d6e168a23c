/*
 * One thread at a time per connection. Makes link_statistics and the roll-ups equal to the visit
 * log again, while consumers keep counting. rebuild_difference.h finds the differences and
 * rebuild_repair.h applies them. A second comparison then verifies the result. Reports on stdout.
 */
#ifndef WAYMARK_TOOLS_REBUILD_STATS_REBUILD_H
#define WAYMARK_TOOLS_REBUILD_STATS_REBUILD_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/postgres/pg_conn.h"

struct rebuild_options {
	/* 0 = all links and the platform. */
	int64_t link_id;
	bool check_only;
};

/*
 * OK: everything is equal now. ERR_CONFLICT: something still differs (with check_only, nothing was
 * changed). ERR_NOT_FOUND: the link does not exist. ERR_LIMIT: another rebuild has been running for
 * two seconds; check_only does not need the lock. Anything else: PostgreSQL is down or refuses a
 * statement; pg_conn_message says why.
 */
enum err rebuild_run(struct pg_conn *conn, const struct rebuild_options *options) MUST_CHECK;

#endif
