/*
 * One thread at a time. Two tasks that keep the roll-ups small; the SQL functions are in
 * db/migrations/0007_rollups.sql. Neither makes a consumer or a reader wait, and their steps end in
 * a fraction of a second. A rebuild of statistics that is under way stops both without an error.
 *
 *   rollups        moves the rows of links that were claimed, deleted or restored to or from those
 *                  of their account. Then folds what batches have added (rollup_delta) into the
 *                  rows of hours. Hours that are not over wait until many rows have come together.
 *   daily-rollups  makes the rows of UTC days that have been over for DAILY_ROLLUPS_DELAY_S from
 *                  their hours, one day after the other, and deletes hours that are older than
 *                  ROLLUP_HOURS_KEEP_DAYS.
 */
#ifndef WAYMARK_SERVICES_JANITOR_RETENTION_ROLLUPS_H
#define WAYMARK_SERVICES_JANITOR_RETENTION_ROLLUPS_H

#include "services/janitor/tasks/run.h"

/* *changed: rows folded, and links moved. */
enum err rollups_fold(struct run *run, int64_t *changed) MUST_CHECK;

/* *changed: accounts and links looked at, over all days. */
enum err rollups_finish(struct run *run, int64_t *changed) MUST_CHECK;

#endif
