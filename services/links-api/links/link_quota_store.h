/*
 * One thread at a time per connection. Counts the links that each user created recently: the table
 * link_quota_uses, one row per user and five minutes. Deleted links still count. Errors of
 * pg_conn_query pass through.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_QUOTA_STORE_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_QUOTA_STORE_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/postgres/pg_conn.h"

#define LINK_QUOTA_STORE_INTERVAL_S 300

/*
 * *links: links created since the start of the interval that contains after_us. *oldest_us: the
 * start of the oldest interval that counts, 0 if there is none.
 */
enum err link_quota_store_count(struct pg_conn *conn, int64_t user_id, int64_t after_us,
                                int64_t *links, int64_t *oldest_us) MUST_CHECK;

/* links must be positive. */
enum err link_quota_store_add(struct pg_conn *conn, int64_t user_id, int64_t now_us,
                              int64_t links) MUST_CHECK;

#endif
