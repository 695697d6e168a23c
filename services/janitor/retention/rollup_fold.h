/*
 * Folds what batches have counted (rollup_delta) into the rows of hours and days, of links and of
 * accounts. A step is one transaction. It deletes some deltas and adds each one to the row of its
 * hour and to the row of its day, of its link and of the account that owned the link when it was
 * counted. So days need no task of their own, a reader takes hours or days as it likes, and
 * nothing that happens to a link later moves its past from one account to another.
 *
 *   - Rows of an hour that is not over wait until a link has ROLLUP_FOLD_DELTAS_MIN of them, because
 *     each fold writes whole rows. A reader adds them up meanwhile.
 *   - Deltas are taken in the order of owner, hour and link. So the long rows of an account are
 *     written once for all of its links, and a backlog of one account costs what its deltas cost.
 *   - A step ends at ROLLUP_FOLD_DELTAS_MAX deltas, or when the lists that it has to write have more
 *     than ROLLUP_FOLD_ENTRIES_MAX entries, so its time does not depend on the backlog.
 *   - The deltas of a purged link count for the account alone (statistics_delete_links), those of a
 *     deleted account for the link alone, and those of an hour that is no longer kept for the days.
 *   - Deltas that a purge has locked are left for the next run, so neither waits for the other.
 *
 * One thread at a time per connection, inside the caller's transaction.
 */
#ifndef WAYMARK_SERVICES_JANITOR_RETENTION_ROLLUP_FOLD_H
#define WAYMARK_SERVICES_JANITOR_RETENTION_ROLLUP_FOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/postgres/pg_conn.h"

#define ROLLUP_FOLD_DELTAS_MIN 32
#define ROLLUP_FOLD_DELTAS_MAX 500
#define ROLLUP_FOLD_ENTRIES_MAX 100000

/* A pass over all deltas. Initialise with { 0 }. */
struct rollup_fold {
	/* Where the next step begins. */
	int64_t owner_id, hour_us, link_id;
	bool is_over;

	/* What the steps have done. */
	int64_t deltas;
	int64_t rows_written;
	int64_t entries_written;
};

/*
 * Folds the next deltas, at most deltas_max: those of hours that have ended at now_us, and those of
 * links that have enough. *folded: how many; 0 does not mean that the pass is over.
 */
enum err rollup_fold_step(struct rollup_fold *fold, struct pg_conn *conn, int64_t now_us,
                          int64_t deltas_max, int64_t *folded) MUST_CHECK;

#endif
