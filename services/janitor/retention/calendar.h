/*
 * One thread at a time. The current UTC day for the tasks that create and delete by the day: salts,
 * partitions, retention and roll-ups.
 *
 * The day comes from the janitor's own clock, just as the redirectors' clocks date the clicks.
 * PostgreSQL's clock is only a safeguard: a janitor whose clock is far off must not delete a year
 * of clicks.
 */
#ifndef WAYMARK_SERVICES_JANITOR_RETENTION_CALENDAR_H
#define WAYMARK_SERVICES_JANITOR_RETENTION_CALENDAR_H

#include <stdint.h>

#include "services/janitor/tasks/run.h"

/*
 * ERR_INVALID: this clock and PostgreSQL's differ by more than CLOCK_SKEW_MAX_S; logged. Always OK
 * if CLOCK_SKEW_MAX_S is 0.
 */
enum err calendar_check_skew(const struct run *run) MUST_CHECK;

/* Days since 1970-01-01 (UTC). */
int32_t calendar_today(const struct run *run);

/*
 * The day at that time in the past. Every earlier day has been over for at least that many seconds.
 */
int32_t calendar_day_ago(const struct run *run, int64_t seconds);

/* The first day whose visits are kept (VISIT_LOG_KEEP_DAYS). */
int32_t calendar_oldest_kept_day(const struct run *run);

#endif
