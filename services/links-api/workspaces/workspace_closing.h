/*
 * The end of workspaces. Owners can restore a deleted workspace for a week, in which its members keep
 * seeing it. Its links are DELETED meanwhile, in batches, and those that the deletion ended come back.
 * One without an owner ends at once: that of a person whose account is deleted. Its row stays, without
 * a name; the janitor purges its links. Safe from any thread.
 *
 * Each batch has its own transaction and reaches Redis before the next one starts, so a million links
 * do not delay other users' changes. The request itself changes the first
 * WORKSPACE_CLOSING_SYNC_LINKS links; a background thread in every instance does the rest. The thread
 * leaves the workspace to the request for WORKSPACE_CLOSING_REQUEST_S: if it took a batch, the request
 * would respond before redirectors know of it. It checks a deleted workspace again until
 * WORKSPACE_CLOSING_GRACE_S have passed: a request that was running at the deletion may still create a
 * link.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_WORKSPACES_WORKSPACE_CLOSING_H
#define WAYMARK_SERVICES_LINKS_API_WORKSPACES_WORKSPACE_CLOSING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/links/slug.h"
#include "lib/postgres/pg_conn.h"
#include "services/links-api/http/api.h"
#include "services/links-api/http/request.h"

#define WORKSPACE_CLOSING_SYNC_LINKS 1000
#define WORKSPACE_CLOSING_REQUEST_S 30
#define WORKSPACE_CLOSING_GRACE_S 60

/*
 * Inside a transaction that holds workspace_store_lock: the workspace is deleted from now on. Links that
 * an earlier restoring has not brought back yet stay DELETED for good. ERR_NOT_FOUND: it is deleted
 * already.
 */
enum err workspace_closing_begin(struct pg_conn *conn, int64_t id) MUST_CHECK;

/* The same: it is not. ERR_NOT_FOUND: it is not deleted, or that cannot be undone any more. */
enum err workspace_closing_undo(struct pg_conn *conn, int64_t id) MUST_CHECK;

/*
 * After the commit of either: changes the first links, at most WORKSPACE_CLOSING_SYNC_LINKS less done.
 * Returns how many links it has seen.
 */
size_t workspace_closing_run(const struct request *r, int64_t id, size_t done);

struct workspace_closing;

/* Starts the background thread. api is borrowed. */
struct workspace_closing *workspace_closing_start(const struct api *api);
/* NULL is allowed. */
void workspace_closing_stop(struct workspace_closing *closing);

/* --- batches of links --- */

#define WORKSPACE_CLOSING_BATCH_MAX 500

/*
 * Walks through the links in the order of creation, so the cost of a batch depends neither on the
 * number of links nor on how many are changed already. Initialise with { .workspace_id = … }.
 */
struct workspace_closing_cursor {
	int64_t workspace_id;
	/* Restores links that became DELETED in this time; 0 = deletes. */
	int64_t restores_since_us, restores_until_us;
	/* The next batch begins after this link. */
	int64_t created_at_us, id;
	bool is_over;
};

/* The links that one batch has changed. */
struct workspace_closing_batch {
	size_t count;
	int64_t ids[WORKSPACE_CLOSING_BATCH_MAX];
	/* Of the last event in the outbox; "" if none was changed. */
	char last_slug[SLUG_SIZE];
};

/*
 * Deletes or restores those of the next WORKSPACE_CLOSING_BATCH_MAX links that are to be, as the
 * endpoints for one link do, and adds their events. Call it inside a transaction. It advances cursor;
 * the caller must restore the old value if it cannot commit. Errors of pg_conn_query pass through.
 */
enum err workspace_closing_next(struct pg_conn *conn, struct workspace_closing_cursor *cursor,
                                struct workspace_closing_batch *batch) MUST_CHECK;

#endif
