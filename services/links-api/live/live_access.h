/* Who may read a stream of visits, while it is open. One thread at a time per connection. */
#ifndef WAYMARK_SERVICES_LINKS_API_LIVE_LIVE_ACCESS_H
#define WAYMARK_SERVICES_LINKS_API_LIVE_LIVE_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/postgres/pg_conn.h"

struct live_reader {
	int64_t user_id, workspace_id;
	/* By which the stream was opened; 0 = by another one. */
	int64_t key_id, session_id;
};

/*
 * may_read[i]: readers[i] is still a member of the workspace, or an administrator of the instance, not
 * blocked, and the key or session exists. Errors of pg_conn_query pass through.
 */
enum err live_access_check(struct pg_conn *conn, const struct live_reader *readers, size_t count,
                           bool *may_read) MUST_CHECK;

#endif
