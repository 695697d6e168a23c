/*
 * One thread at a time. The second phase of the task "retention": the statistics, roll-ups and known visitors of links
 * that were purged are deleted; the platform's sums keep their clicks. The analytics-consumer does so soon after the
 * purge (purge_follower.h); this finds what it missed, and what clicks that were counted later have brought back. It
 * goes through all statistics once per run, and goes on where the last run was interrupted.
 */
#ifndef WAYMARK_SERVICES_JANITOR_PURGED_STATISTICS_H
#define WAYMARK_SERVICES_JANITOR_PURGED_STATISTICS_H

#include "services/janitor/run.h"

/* *changed: rows deleted. */
enum err purged_statistics_forget(struct run *run, int64_t *changed) MUST_CHECK;

#endif
