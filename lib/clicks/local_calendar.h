/*
 * One thread at a time per connection. Days, weeks and months as clocks in a time zone show them. PostgreSQL's own copy
 * of the IANA database decides; zones are named as in it, also CET and others that SQL takes for abbreviations. A zone
 * must be one of local_calendar_read_zones.
 */
#ifndef WAYMARK_LIB_CLICKS_LOCAL_CALENDAR_H
#define WAYMARK_LIB_CLICKS_LOCAL_CALENDAR_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/clicks/statistics_range.h"
#include "lib/net/pg_conn.h"

/* With its NUL; the longest name has 32 bytes. */
#define LOCAL_CALENDAR_ZONE_SIZE 48
#define LOCAL_CALENDAR_ZONES_MAX 2000
/* "2026-11-20" */
#define LOCAL_CALENDAR_DATE_SIZE 11

enum local_calendar_interval {
	LOCAL_CALENDAR_HOUR,
	LOCAL_CALENDAR_DAY,
	LOCAL_CALENDAR_WEEK, /* from Monday */
	LOCAL_CALENDAR_MONTH,
};

/* "hour" */
const char *local_calendar_interval_name(enum local_calendar_interval interval);

/*
 * All zones, at most LOCAL_CALENDAR_ZONES_MAX of them, sorted by strcmp, for which zones has room. Takes the server a
 * tenth of a second: it looks through its files. Without further names that the
 * server's settings make abbreviations.
 */
enum err local_calendar_read_zones(struct pg_conn *conn, char (*zones)[LOCAL_CALENDAR_ZONE_SIZE],
                                   size_t *count) MUST_CHECK;

/* When the date begins. ERR_INVALID: there is no such date. */
enum err local_calendar_date_start(struct pg_conn *conn, const char *date, const char *zone,
                                   int64_t *start_us) MUST_CHECK;

/* When the interval began that ends with, or after, to_us, and back - 1 intervals before that. */
enum err local_calendar_back(struct pg_conn *conn, int64_t to_us, const char *zone,
                             enum local_calendar_interval interval, int64_t back, int64_t *start_us) MUST_CHECK;

/*
 * When the intervals begin of which some part is in span; the first may begin before it. Where clocks are set by less
 * than an hour, an hour begins there, too, so that each is of one offset. ERR_LIMIT: there are more than max.
 */
enum err local_calendar_starts(struct pg_conn *conn, struct statistics_span span, const char *zone,
                               enum local_calendar_interval interval, int64_t *starts, size_t max,
                               size_t *count) MUST_CHECK;

#endif
