/*
 * One thread at a time. The task "daily-rollups". It makes the roll-ups of UTC days that have been
 * over for DAILY_ROLLUPS_DELAY_S (visit_rollup_day, visit_total_day) from their hours and quarters,
 * one day after the other. The SQL functions are in db/migrations/0005_statistics.sql.
 *
 * While a batch works, no click of its day is counted. That lasts for DAILY_ROLLUPS_WORK_MS, plus
 * the wait for transactions that are counting clicks of the day, at most
 * DAILY_ROLLUPS_LOCK_TIMEOUT_MS. Clicks of other days are not delayed.
 */
#ifndef WAYMARK_SERVICES_JANITOR_RETENTION_DAILY_ROLLUPS_H
#define WAYMARK_SERVICES_JANITOR_RETENTION_DAILY_ROLLUPS_H

#include "services/janitor/run.h"

#define DAILY_ROLLUPS_WORK_MS 200
#define DAILY_ROLLUPS_LOCK_TIMEOUT_MS 400

/*
 * *changed: links processed, over all days. ERR_LIMIT: clicks of the day are being counted without
 * a pause; finished batches stay. A rebuild of statistics that is under way stops the roll-ups
 * without an error.
 */
enum err daily_rollups_run(struct run *run, int64_t *changed) MUST_CHECK;

#endif
