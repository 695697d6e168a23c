/*
 * Results of destination checks, in the columns destination_status, last_checked_at, next_check_at
 * and failed_checks of the table links. The janitor writes them here; links-api reads them in
 * link_details.c. They are not changes of the link: version and outbox stay as they are. A trigger
 * resets them when the destination changes. Errors of pg_conn_query pass through.
 *
 * One thread at a time per connection.
 */
#ifndef WAYMARK_LIB_LINKS_LINK_CHECK_STORE_H
#define WAYMARK_LIB_LINKS_LINK_CHECK_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/links/link.h"
#include "lib/postgres/pg_conn.h"

#define LINK_CHECK_NO_ANSWER 0
#define LINK_CHECK_NEVER (-1)

/* --- for the janitor; inside its transactions --- */

struct link_check_due {
	int64_t link_id;
	/* Consecutive. */
	int64_t failures;
	char url[LINK_URL_SIZE];
};

/*
 * Claims at most limit ACTIVE links whose check is due, the longest overdue first; out must have
 * room for them. A claimed link is not due again for lease_s seconds, so a link that crashes a
 * checker does not block the others.
 */
enum err link_check_store_claim(struct pg_conn *conn, int64_t limit, int64_t lease_s,
                                struct link_check_due *out, size_t *count) MUST_CHECK;

/*
 * Stores the result of a check, and in how many seconds the next one is due. Does nothing if the
 * destination has changed since the claim.
 */
enum err link_check_store_write(struct pg_conn *conn, const struct link_check_due *due, int status,
                                int64_t failures, int64_t next_s) MUST_CHECK;

/* Postpones a check that gave no result. */
enum err link_check_store_postpone(struct pg_conn *conn, const struct link_check_due *due,
                                   int64_t delay_ms) MUST_CHECK;

#endif
