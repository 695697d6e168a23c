/*
 * One thread at a time. The task "finished-days": the roll-ups of UTC days that have been over for DAY_FINISHED_AFTER_S
 * are made (visit_rollup_day, visit_total_day) from their hours and quarters, one day after the other, by the functions of
 * db/migrations/0017_finished_days.sql. While a batch is at work nobody counts clicks of its day; that takes
 * FINISHED_DAYS_WORK_MS and, before it, as long as those need who are counting some, but at most FINISHED_DAYS_WAIT_MS.
 * Clicks of other days are not held up.
 */
#ifndef WAYMARK_SERVICES_JANITOR_FINISHED_DAYS_H
#define WAYMARK_SERVICES_JANITOR_FINISHED_DAYS_H

#include "services/janitor/run.h"

#define FINISHED_DAYS_WORK_MS 200
#define FINISHED_DAYS_WAIT_MS 400

/*
 * *changed: links looked at, of all days. ERR_LIMIT: clicks of the day are being counted without a pause just now; what was
 * done stays. A rebuild of statistics that is under way keeps days from being finished: that is no error.
 */
enum err finished_days_run(struct run *run, int64_t *changed) MUST_CHECK;

#endif
