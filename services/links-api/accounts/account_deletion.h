/*
 * Deletes accounts. The users row stays, without personal data. API keys, sessions and access
 * tokens stop working at once. Links become DELETED in batches. Each batch has its own transaction
 * and reaches Redis before the next one starts, so a million links do not delay other users'
 * changes. Safe from any thread.
 *
 * The request itself deletes the first ACCOUNT_DELETION_SYNC_LINKS links; a background thread in
 * every instance deletes the rest. The thread leaves the account to the request for
 * ACCOUNT_DELETION_REQUEST_S: if it took a batch, the request would respond before redirectors know
 * of it. It checks the account again until ACCOUNT_DELETION_GRACE_S have passed: a request that was
 * running at the deletion may still create a link.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_ACCOUNTS_ACCOUNT_DELETION_H
#define WAYMARK_SERVICES_LINKS_API_ACCOUNTS_ACCOUNT_DELETION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/links/slug.h"
#include "lib/postgres/pg_conn.h"
#include "services/links-api/http/api.h"
#include "services/links-api/http/request.h"

#define ACCOUNT_DELETION_SYNC_LINKS 1000
#define ACCOUNT_DELETION_REQUEST_S 30
#define ACCOUNT_DELETION_GRACE_S 60

/*
 * Deletes the caller's account. hash: the password hash that the caller's password matched. OK:
 * even if links are left for the thread. ERR_NOT_FOUND: the password has changed, or the account is
 * already deleted. ERR_CONFLICT: the caller is the last administrator.
 */
enum err account_deletion_run(const struct request *r, const char *hash) MUST_CHECK;

struct account_deletion;

/* Starts the background thread. api is borrowed. */
struct account_deletion *account_deletion_start(const struct api *api);
/* NULL is allowed. */
void account_deletion_stop(struct account_deletion *closing);

/* --- batches of links --- */

#define ACCOUNT_DELETION_BATCH_MAX 500

/*
 * Walks through the links in the order of creation, so the cost of a batch depends neither on the
 * number of links nor on how many are DELETED already. Initialise with { .workspace_id = … }.
 */
struct account_deletion_cursor {
	int64_t workspace_id;
	/* The next batch begins after this link. */
	int64_t created_at_us, id;
	bool is_over;
};

/* The links that one batch has deleted. */
struct account_deletion_batch {
	size_t count;
	int64_t ids[ACCOUNT_DELETION_BATCH_MAX];
	/* Of the last event in the outbox; "" if none was deleted. */
	char last_slug[SLUG_SIZE];
};

/*
 * Deletes those of the next ACCOUNT_DELETION_BATCH_MAX links that are not DELETED yet, as the
 * DELETE endpoint does, and adds their events. Call it inside a transaction. It advances cursor;
 * the caller must restore the old value if it cannot commit. Errors of pg_conn_query pass through.
 */
enum err account_deletion_next(struct pg_conn *conn, struct account_deletion_cursor *cursor,
                               struct account_deletion_batch *batch) MUST_CHECK;

#endif
