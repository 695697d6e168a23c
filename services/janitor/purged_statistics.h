/*
 * One thread at a time. The second phase of the task "retention": the statistics and roll-ups of links that were purged are
 * deleted; the platform's sums keep their clicks. It goes through all statistics once per run, and goes on where the last run
 * was interrupted. A click that is counted later still makes a row again, for the next run.
 */
#ifndef WAYMARK_SERVICES_JANITOR_PURGED_STATISTICS_H
#define WAYMARK_SERVICES_JANITOR_PURGED_STATISTICS_H

#include "services/janitor/run.h"

/* *changed: rows deleted. */
enum err purged_statistics_forget(struct run *run, int64_t *changed) MUST_CHECK;

#endif
