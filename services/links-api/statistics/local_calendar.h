/*
 * Hours, days, weeks and months in the local time of a time zone. PostgreSQL's copy of the IANA
 * database decides. time_zones_check (http/time_zones.h) must
 * have found every zone.
 *
 * One thread at a time per connection.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_STATISTICS_LOCAL_CALENDAR_H
#define WAYMARK_SERVICES_LINKS_API_STATISTICS_LOCAL_CALENDAR_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/postgres/pg_conn.h"
#include "services/links-api/statistics/statistics_range.h"

/* "2026-11-20" */
#define LOCAL_CALENDAR_DATE_SIZE 11

enum local_calendar_interval {
	LOCAL_CALENDAR_HOUR,
	LOCAL_CALENDAR_DAY,
	LOCAL_CALENDAR_WEEK, /* begins on Monday */
	LOCAL_CALENDAR_MONTH,
};

/* "hour" */
const char *local_calendar_interval_name(enum local_calendar_interval interval);

/* The start of a local date. ERR_INVALID: the date does not exist. */
enum err local_calendar_date_start(struct pg_conn *conn, const char *date, const char *zone,
                                   int64_t *start_us) MUST_CHECK;

/* The start of the interval that contains to_us - 1, moved back by back - 1 intervals. */
enum err local_calendar_subtract(struct pg_conn *conn, int64_t to_us, const char *zone,
                                 enum local_calendar_interval interval, int64_t back,
                                 int64_t *start_us) MUST_CHECK;

/*
 * Moves both ends of a span back by so many intervals of local time. If nothing would be left of
 * it, because the month has no such days or the day no such hours, the result is as long as span.
 * ERR_INVALID: it would begin before 1970.
 */
enum err local_calendar_move_back(struct pg_conn *conn, struct statistics_span span,
                                  const char *zone, enum local_calendar_interval interval,
                                  int64_t back, struct statistics_span *moved) MUST_CHECK;

/*
 * The smallest number of intervals by which local_calendar_move_back moves a span that ends before
 * it began. ERR_INVALID as there.
 */
enum err local_calendar_count_back(struct pg_conn *conn, struct statistics_span span,
                                   const char *zone, enum local_calendar_interval interval,
                                   int64_t *back) MUST_CHECK;

/*
 * The starts of all intervals that overlap span; the first one may be before it. Where the local
 * offset changes by less than an hour, a new hour begins, so that each hour has one offset.
 * ERR_LIMIT: there are more than max.
 */
enum err local_calendar_starts(struct pg_conn *conn, struct statistics_span span, const char *zone,
                               enum local_calendar_interval interval, int64_t *starts, size_t max,
                               size_t *count) MUST_CHECK;

#endif
