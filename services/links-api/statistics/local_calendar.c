#include "services/links-api/statistics/local_calendar.h"

#include "lib/base/clock.h"
#include "services/links-api/http/time_zones.h"

/* The minimum length of an interval. When clocks change, a local hour can be half an hour. */
static const int64_t interval_min_us[] = {
	[LOCAL_CALENDAR_HOUR] = CLOCK_US_PER_HOUR / 2,
	[LOCAL_CALENDAR_DAY] = 22 * CLOCK_US_PER_HOUR,
	[LOCAL_CALENDAR_WEEK] = 6 * CLOCK_US_PER_DAY,
	[LOCAL_CALENDAR_MONTH] = 27 * CLOCK_US_PER_DAY,
};

const char *local_calendar_interval_name(enum local_calendar_interval interval)
{
	static const char *const names[] = {
		[LOCAL_CALENDAR_HOUR] = "hour",
		[LOCAL_CALENDAR_DAY] = "day",
		[LOCAL_CALENDAR_WEEK] = "week",
		[LOCAL_CALENDAR_MONTH] = "month",
	};
	return names[interval];
}

static enum err query_time(struct pg_conn *conn, const char *sql, const struct pg_params *params,
                           int64_t *time_us)
{
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(conn, sql, params, &rows);
	if (err == OK)
		*time_us = pg_result_time(rows, 0, 0);
	pg_result_free(rows);
	return err;
}

enum err local_calendar_date_start(struct pg_conn *conn, const char *date, const char *zone,
                                   int64_t *start_us)
{
	struct pg_params params = { 0 };
	pg_params_text(&params, date);
	pg_params_text(&params, time_zones_in_sql(zone));
	return query_time(conn, "SELECT local_start($1::date::timestamp, $2)", &params, start_us);
}

enum err local_calendar_subtract(struct pg_conn *conn, int64_t to_us, const char *zone,
                                 enum local_calendar_interval interval, int64_t back,
                                 int64_t *start_us)
{
	if (interval == LOCAL_CALENDAR_HOUR) {
		*start_us = to_us - back * CLOCK_US_PER_HOUR;
		return OK;
	}
	struct pg_params params = { 0 };
	pg_params_time(&params, to_us - 1);
	pg_params_text(&params, time_zones_in_sql(zone));
	pg_params_text(&params, local_calendar_interval_name(interval));
	pg_params_int(&params, back - 1);
	return query_time(
		conn,
		"SELECT local_start(date_trunc($3::text, $1::timestamptz AT TIME ZONE $2::text) "
		"- $4::int * ('1 ' || $3::text)::interval, $2::text)",
		&params, start_us);
}

enum err local_calendar_move_back(struct pg_conn *conn, struct statistics_span span,
                                  const char *zone, enum local_calendar_interval interval,
                                  int64_t back, struct statistics_span *moved)
{
	if (interval == LOCAL_CALENDAR_HOUR) {
		moved->from_us = span.from_us - back * CLOCK_US_PER_HOUR;
		moved->to_us = span.to_us - back * CLOCK_US_PER_HOUR;
		return moved->from_us < 0 ? ERR_INVALID : OK;
	}
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_time(&params, span.from_us);
	pg_params_time(&params, span.to_us);
	pg_params_text(&params, time_zones_in_sql(zone));
	pg_params_text(&params, local_calendar_interval_name(interval));
	pg_params_int(&params, back);
	enum err err = pg_conn_query(
		conn,
		"SELECT begins, ends FROM (SELECT $5::int * ('1 ' || $4::text)::interval AS move) AS moves, "
		"local_start(($1::timestamptz AT TIME ZONE $3::text) - move, $3::text) AS begins, "
		"local_start(($2::timestamptz AT TIME ZONE $3::text) - move, $3::text) AS ends "
		"WHERE begins >= 'epoch'",
		&params, &rows);
	if (err == OK && pg_result_count(rows) == 0)
		err = ERR_INVALID;
	if (err == OK) {
		moved->from_us = pg_result_time(rows, 0, 0);
		moved->to_us = pg_result_time(rows, 0, 1);
		if (statistics_range_is_empty(moved))
			moved->to_us = moved->from_us + (span.to_us - span.from_us);
	}
	pg_result_free(rows);
	return err;
}

/* The average length; a month is a twelfth of a year of 365.2425 days. */
static const int64_t interval_us[] = {
	[LOCAL_CALENDAR_HOUR] = CLOCK_US_PER_HOUR,
	[LOCAL_CALENDAR_DAY] = CLOCK_US_PER_DAY,
	[LOCAL_CALENDAR_WEEK] = 7 * CLOCK_US_PER_DAY,
	[LOCAL_CALENDAR_MONTH] = INT64_C(2629746) * CLOCK_US_PER_S,
};

/* Days and months have different lengths, so the average finds the number only about. */
enum err local_calendar_count_back(struct pg_conn *conn, struct statistics_span span,
                                   const char *zone, enum local_calendar_interval interval,
                                   int64_t *back)
{
	int64_t count =
		(span.to_us - span.from_us + interval_us[interval] / 2) / interval_us[interval];
	for (*back = count > 0 ? count : 1;; (*back)++) {
		struct statistics_span moved;
		enum err err = local_calendar_move_back(conn, span, zone, interval, *back, &moved);
		if (err != OK || moved.to_us <= span.from_us)
			return err;
	}
}

static const char starts_sql[] =
	"SELECT local_start(local, $3::text) FROM generate_series(date_trunc($4::text, $1::timestamptz AT TIME ZONE $3::text), "
	"$2::timestamptz AT TIME ZONE $3::text, ('1 ' || $4::text)::interval) AS local";

/* An hour begins where the minutes are zero, or where the offset changed (at a quarter hour). */
static const char hour_starts_sql[] =
	"SELECT quarter FROM (SELECT quarter, quarter AT TIME ZONE $3::text AS local, "
	"(quarter - interval '15 minutes') AT TIME ZONE $3::text AS before FROM generate_series("
	"date_bin('15 minutes', $1::timestamptz, 'epoch') - interval '1 hour', $2::timestamptz, interval '15 minutes') AS quarter"
	") AS quarters WHERE extract(minute FROM local) = 0 OR local - before <> interval '15 minutes'";

/*
 * Copies different starts, which are in ascending order: from the last one at or before the start
 * of span to the last one in it.
 */
static enum err copy_starts(const struct pg_result *rows, struct statistics_span span,
                            int64_t *starts, size_t max, size_t *count)
{
	*count = 0;
	for (size_t i = 0; i < pg_result_count(rows); i++) {
		int64_t start_us = pg_result_time(rows, i, 0);
		if (start_us <= span.from_us)
			*count = 0;
		if (start_us >= span.to_us)
			break;
		/* A day that a zone skips (Samoa, 2011-12-30) starts when the next one does. */
		if (*count > 0 && starts[*count - 1] == start_us)
			continue;
		if (*count == max)
			return ERR_LIMIT;
		starts[(*count)++] = start_us;
	}
	return *count > 0 ? OK : ERR_INTERNAL;
}

enum err local_calendar_starts(struct pg_conn *conn, struct statistics_span span, const char *zone,
                               enum local_calendar_interval interval, int64_t *starts, size_t max,
                               size_t *count)
{
	if ((span.to_us - span.from_us) / interval_min_us[interval] > 2 * (int64_t)max)
		return ERR_LIMIT;
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_time(&params, span.from_us);
	pg_params_time(&params, span.to_us - 1);
	pg_params_text(&params, time_zones_in_sql(zone));
	if (interval != LOCAL_CALENDAR_HOUR)
		pg_params_text(&params, local_calendar_interval_name(interval));
	enum err err =
		pg_conn_query(conn, interval == LOCAL_CALENDAR_HOUR ? hour_starts_sql : starts_sql,
	                      &params, &rows);
	if (err == OK)
		err = copy_starts(rows, span, starts, max, count);
	pg_result_free(rows);
	return err;
}
