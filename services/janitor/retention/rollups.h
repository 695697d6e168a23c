/*
 * One thread at a time. The task "rollups". Folds what batches have counted (rollup_fold.h), and
 * deletes hours that are older than ROLLUP_HOURS_KEEP_DAYS, of links and of accounts; days are kept
 * for ever. It makes neither a consumer nor a reader wait.
 */
#ifndef WAYMARK_SERVICES_JANITOR_RETENTION_ROLLUPS_H
#define WAYMARK_SERVICES_JANITOR_RETENTION_ROLLUPS_H

#include "services/janitor/tasks/run.h"

/* *changed: rows folded, and hours deleted. */
enum err rollups_run(struct run *run, int64_t *changed) MUST_CHECK;

#endif
