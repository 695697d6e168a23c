/*
 * One thread at a time. The task "rollups". It folds what batches have counted (rollup_delta) into
 * the rows of hours and days, of links and of workspaces, and deletes hours that are older than
 * ROLLUP_HOURS_KEEP_DAYS; days are kept for ever. It makes neither a consumer nor a reader wait.
 *
 * A step is one transaction. It deletes some deltas and adds each one to the row of its hour and to
 * the row of its day, of its link and of the workspace that had the link when it was counted. So
 * days need no task of their own, a reader takes hours or days as it likes, and nothing that happens
 * to a link later moves its past from one workspace to another.
 *
 *   - Rows of an hour that is not over wait until a link has ROLLUPS_FOLD_DELTAS_MIN of them, because
 *     each fold writes whole rows. A reader adds them up meanwhile.
 *   - Deltas are taken in the order of workspace, hour and link. So the long rows of a workspace are
 *     written once for all of its links, and a backlog of one workspace costs what its deltas cost.
 *   - A step ends at ROLLUPS_FOLD_DELTAS_MAX deltas, or when the lists that it has to write have more
 *     than ROLLUPS_FOLD_ENTRIES_MAX entries, so its time does not depend on the backlog.
 *   - The deltas of a purged link count for the workspace alone (statistics_delete_links), those of a
 *     deleted workspace for the link alone, and those of an hour that is no longer kept for the days.
 *   - At the end of a pass, what it deleted is read once more, a few steps' range at a time. A reader
 *     that finds a deleted row which nobody can see any more marks its index entry, so nobody later
 *     walks over a million of them before vacuum removes them. It is read at the end, because until
 *     then another transaction, as that of an ANALYZE of these tables, may still see the rows.
 *   - Deltas that a purge has locked are left for the next run, so neither waits for the other.
 */
#ifndef WAYMARK_SERVICES_JANITOR_RETENTION_ROLLUPS_H
#define WAYMARK_SERVICES_JANITOR_RETENTION_ROLLUPS_H

#include <stdbool.h>
#include <stdint.h>

#include "services/janitor/tasks/run.h"

#define ROLLUPS_FOLD_DELTAS_MIN 32
#define ROLLUPS_FOLD_DELTAS_MAX 250
#define ROLLUPS_FOLD_ENTRIES_MAX 40000
/* Beyond, every second one is forgotten. */
#define ROLLUPS_TRAIL_MAX 1024

/* Of a delta in the order of folding. */
struct rollups_position {
	int64_t workspace_id, hour_us, link_id;
};

/* A pass over all deltas. 24 KB. Initialise with { 0 }. */
struct rollups_pass {
	/* Where the next step begins. */
	struct rollups_position next;
	/* All deltas were looked at. What was deleted is read once more. */
	bool is_reading_again;
	/* The pass has nothing more to do. */
	bool is_over;
	int64_t steps;
	/* Where every trail_steps-th step began, and how many of them are read again. */
	struct rollups_position trail[ROLLUPS_TRAIL_MAX];
	size_t trail_count, trail_read;
	int64_t trail_steps;

	/* What the steps have done. */
	int64_t deltas;
	int64_t rows_written;
	int64_t entries_written;
};

/* *changed: deltas folded, and hours deleted. */
enum err rollups_run(struct run *run, int64_t *changed) MUST_CHECK;

/*
 * A step, inside the caller's transaction. Folds the next deltas, at most deltas_max: those of hours
 * that have ended at now_us, and those of links that have enough. *folded: how many; 0 does not mean
 * that the pass is over.
 */
enum err rollups_fold(struct rollups_pass *pass, struct pg_conn *conn, int64_t now_us,
                      int64_t deltas_max, int64_t *folded) MUST_CHECK;

#endif
