#include "services/links-api/stats/stats_range.h"

#include "lib/base/clock.h"

static const int64_t default_intervals[] = {
	[LOCAL_CALENDAR_HOUR] = 24,
	[LOCAL_CALENDAR_DAY] = 30,
	[LOCAL_CALENDAR_WEEK] = 12,
	[LOCAL_CALENDAR_MONTH] = 12,
};

static enum err find_end(struct pg_conn *conn, const struct stats_params *params, const struct stats_params_end *end,
                         int64_t *time_us)
{
	if (end->date[0] != '\0')
		return local_calendar_date_start(conn, end->date, params->zone, time_us);
	*time_us = end->time_us;
	return OK;
}

static enum err find_from(struct pg_conn *conn, const struct stats_params *params, int64_t to_us, int64_t *from_us)
{
	if (params->from.is_given)
		return find_end(conn, params, &params->from, from_us);
	return local_calendar_back(conn, to_us, params->zone, params->interval, default_intervals[params->interval],
	                           from_us);
}

enum err stats_range_find(struct pg_conn *conn, struct zone_names *zones, const struct stats_params *params,
                          int64_t now_us, struct statistics_span *out, struct http_problem_fields *wrong)
{
	struct statistics_span span = { .to_us = now_us - now_us % CLOCK_US_PER_HOUR + CLOCK_US_PER_HOUR };
	enum err err = zone_names_check(zones, conn, params->zone);
	if (err == ERR_NOT_FOUND) {
		http_problem_add_field(wrong, "/tz", "must be an IANA time zone like Europe/Berlin");
		return ERR_INVALID;
	}
	if (err == OK && params->to.is_given)
		err = find_end(conn, params, &params->to, &span.to_us);
	/* A range cannot start before 1970. */
	if (err == OK && span.to_us > 0)
		err = find_from(conn, params, span.to_us, &span.from_us);
	if (err != OK)
		return err;
	if (statistics_range_is_empty(&span)) {
		if (params->to.is_given)
			http_problem_add_field(wrong, "/to", "must be later than from");
		else
			http_problem_add_field(wrong, "/from", "is in the future");
		return ERR_INVALID;
	}
	*out = span;
	return OK;
}
