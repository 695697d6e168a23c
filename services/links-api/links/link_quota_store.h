/*
 * One thread at a time per connection. How many links each user created lately: the table link_quota_uses, a row for
 * each five minutes. What becomes of the links does not matter. Errors of pg_conn_query pass through.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_QUOTA_STORE_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_QUOTA_STORE_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/net/pg_conn.h"

#define LINK_QUOTA_STORE_STEP_S 300

/*
 * links: created after a time; those of its five minutes are among them, whether they were before it or after. oldest_us:
 * when the first of these five minutes begin, 0 if there are none.
 */
enum err link_quota_store_count(struct pg_conn *conn, int64_t user_id, int64_t after_us, int64_t *links,
                                int64_t *oldest_us) MUST_CHECK;

/* links: more than 0. */
enum err link_quota_store_add(struct pg_conn *conn, int64_t user_id, int64_t now_us, int64_t links) MUST_CHECK;

#endif
