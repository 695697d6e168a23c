#include "services/janitor/retention/daily_rollups.h"

#include "services/janitor/retention/calendar.h"

#define TEXT_OF(number) TEXT_OF_VALUE(number)
#define TEXT_OF_VALUE(number) #number

static enum err advance(const struct run *run, int64_t *changed)
{
	struct pg_params params = { 0 };
	enum err err = pg_conn_query(
		run->conn, "SET LOCAL lock_timeout = " TEXT_OF(DAILY_ROLLUPS_LOCK_TIMEOUT_MS), NULL,
		NULL);
	if (err != OK)
		return err;
	pg_params_day(&params, calendar_day_ago(run, run->config->daily_rollups_delay_s) - 1);
	pg_params_int(&params, DAILY_ROLLUPS_WORK_MS);
	return pg_conn_query_int(run->conn, "SELECT daily_rollup_advance($1, $2::integer)", &params,
	                         changed);
}

enum err daily_rollups_run(struct run *run, int64_t *changed)
{
	enum err err = calendar_check_skew(run);
	return err == OK ? run_until_unchanged(run, advance, changed) : err;
}
