#include "services/janitor/retention/calendar.h"

#include <stdlib.h>

enum err calendar_check_skew(const struct run *run)
{
	if (run->config->clock_skew_max_s == 0)
		return OK;
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(run->conn, "SELECT clock_timestamp()", NULL, &rows);
	if (err == OK) {
		int64_t difference_us = pg_result_time(rows, 0, 0) - clock_now_us(run->clock);
		if (llabs(difference_us) > run->config->clock_skew_max_s * CLOCK_US_PER_S) {
			log_error(run->log, "clock_skew_too_large",
			          LOG_INT("postgres_ahead_ms", difference_us / CLOCK_US_PER_MS));
			err = ERR_INVALID;
		}
	}
	pg_result_free(rows);
	return err;
}

int32_t calendar_day_ago(const struct run *run, int64_t seconds)
{
	return clock_utc_day(clock_now_us(run->clock) - seconds * CLOCK_US_PER_S);
}

int32_t calendar_today(const struct run *run)
{
	return calendar_day_ago(run, 0);
}

int32_t calendar_oldest_kept_day(const struct run *run)
{
	return calendar_today(run) - (int32_t)run->config->visit_log_keep_days;
}
