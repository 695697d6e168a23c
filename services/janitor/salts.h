/*
 * One thread at a time. The task "salts": there are salts for today (UTC) and the next SALTS_AHEAD_DAYS days, so that
 * all redirectors agree on them in time; those of days that are over are deleted.
 */
#ifndef WAYMARK_SERVICES_JANITOR_SALTS_H
#define WAYMARK_SERVICES_JANITOR_SALTS_H

#include "services/janitor/run.h"

#define SALTS_AHEAD_DAYS 2

enum err salts_run(struct run *run, int64_t *changed) MUST_CHECK;

#endif
