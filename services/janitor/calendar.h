/*
 * One thread at a time. Which day it is for the tasks that make and delete by the day (salts, partitions, retention).
 * The janitor's own clock says so, as the redirectors' clocks say on which day a click is; PostgreSQL's clock decides
 * nothing but who holds a lock, and can only veto: a janitor whose clock has gone astray must not delete a year's
 * clicks.
 */
#ifndef WAYMARK_SERVICES_JANITOR_CALENDAR_H
#define WAYMARK_SERVICES_JANITOR_CALENDAR_H

#include <stdint.h>

#include "services/janitor/run.h"

/* ERR_INVALID: our clock and PostgreSQL's differ by more than CLOCK_DIFFERENCE_MAX_S (0 = never asked); logged. */
enum err calendar_check(const struct run *run) MUST_CHECK;

/* Days since 1970-01-01 (UTC). */
int32_t calendar_today(const struct run *run);

/* The day that it was so many seconds ago: what is before it has been over for that long. */
int32_t calendar_day_ago(const struct run *run, int64_t seconds);

/* The first day whose visits are kept (VISIT_LOG_KEEP_DAYS). */
int32_t calendar_oldest_visits(const struct run *run);

#endif
