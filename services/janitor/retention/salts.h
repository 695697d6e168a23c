/*
 * One thread at a time. The task "salts". It creates the salts of today (UTC) and the next
 * SALTS_AHEAD_DAYS days, so that all redirectors agree on them in time, and deletes those of past
 * days.
 */
#ifndef WAYMARK_SERVICES_JANITOR_RETENTION_SALTS_H
#define WAYMARK_SERVICES_JANITOR_RETENTION_SALTS_H

#include "services/janitor/tasks/run.h"

#define SALTS_AHEAD_DAYS 2

/* *changed: salts created and salts deleted. */
enum err salts_run(struct run *run, int64_t *changed) MUST_CHECK;

#endif
