/*
 * One thread at a time per connection. What is known of links' destinations: the columns destination_status,
 * last_checked_at, next_check_at and failed_checks of the table links. Written by the janitor, read by links-api. No
 * change of the link: neither its version nor the outbox moves. A new destination forgets all of it (a trigger). Errors
 * of pg_conn_query pass through.
 */
#ifndef WAYMARK_LIB_LINKS_LINK_CHECK_STORE_H
#define WAYMARK_LIB_LINKS_LINK_CHECK_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/links/link.h"
#include "lib/net/pg_conn.h"

#define LINK_CHECK_NO_ANSWER 0
#define LINK_CHECK_NOT_ASKED (-1)

struct link_check {
	int status; /* HTTP's, LINK_CHECK_NO_ANSWER or LINK_CHECK_NOT_ASKED */
	int64_t last_checked_at_us;
};

/* For each of ids, in their order; LINK_CHECK_NOT_ASKED for one that is not there. */
enum err link_check_store_get_many(struct pg_conn *conn, const int64_t *ids, size_t count,
                                   struct link_check *out) MUST_CHECK;

/* --- for the janitor; inside its transactions --- */

struct link_check_due {
	int64_t link_id;
	int64_t failures; /* one after the other */
	char url[LINK_URL_SIZE];
};

/*
 * At most limit ACTIVE links whose check is due, the longest due first; out has room for them. They are not due again
 * for lease_s seconds, so that one that somebody dies of does not stand in everybody's way.
 */
enum err link_check_store_claim(struct pg_conn *conn, int64_t limit, int64_t lease_s, struct link_check_due *out,
                                size_t *count) MUST_CHECK;

/* What came out, and in how many seconds it is due again. A link that leads elsewhere by now keeps what it has. */
enum err link_check_store_write(struct pg_conn *conn, const struct link_check_due *due, int status, int64_t failures,
                                int64_t next_s) MUST_CHECK;

/* Nothing came out. */
enum err link_check_store_postpone(struct pg_conn *conn, const struct link_check_due *due, int64_t wait_ms) MUST_CHECK;

#endif
