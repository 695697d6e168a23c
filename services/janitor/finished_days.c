#include "services/janitor/finished_days.h"

#include "services/janitor/calendar.h"

#define TEXT_OF(number) TEXT_OF_VALUE(number)
#define TEXT_OF_VALUE(number) #number

static enum err advance(const struct run *run, int64_t *changed)
{
	struct pg_params params = { 0 };
	enum err err = pg_conn_query(run->conn, "SET LOCAL lock_timeout = " TEXT_OF(FINISHED_DAYS_WAIT_MS), NULL, NULL);
	if (err != OK)
		return err;
	pg_params_day(&params, calendar_day_ago(run, run->config->day_finished_after_s) - 1);
	pg_params_int(&params, FINISHED_DAYS_WORK_MS);
	return pg_conn_query_int(run->conn, "SELECT finished_days_advance($1, $2::integer)", &params, changed);
}

enum err finished_days_run(struct run *run, int64_t *changed)
{
	enum err err = calendar_check(run);
	return err == OK ? run_while_changing(run, advance, changed) : err;
}
