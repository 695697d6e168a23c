#include "services/janitor/retention/rollups.h"

#include "services/janitor/retention/calendar.h"

static enum err fold_some(const struct run *run, int64_t *changed)
{
	struct pg_params params = { 0 };
	pg_params_time(&params, clock_now_us(run->clock));
	pg_params_int(&params, RUN_BATCH_ROWS);
	return pg_conn_query_int(run->conn, "SELECT rollup_fold($1, $2::integer)", &params,
	                         changed);
}

/* Ends when all links were looked at. A step that folds nothing may have more after it. */
static enum err fold(struct run *run, int64_t *changed)
{
	int64_t next_link = 0;
	enum err err;
	do {
		if (shutdown_requested(run->shutdown)) {
			run->is_interrupted = true;
			return OK;
		}
		int64_t before = next_link;
		int64_t folded = *changed;
		err = run_batch(run, fold_some, changed);
		if (err == OK)
			err = pg_conn_query_int(run->conn, "SELECT fold_link FROM rollup_progress",
			                        NULL, &next_link);
		/* A rebuild lets no step go on. */
		if (next_link == before && folded == *changed)
			next_link = 0;
	} while (err == OK && next_link > 0);
	return err;
}

static enum err move_some(const struct run *run, int64_t *changed)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, RUN_BATCH_ROWS);
	return pg_conn_query_int(run->conn, "SELECT rollup_move_some($1::integer)", &params,
	                         changed);
}

enum err rollups_fold(struct run *run, int64_t *changed)
{
	enum err err = run_until_unchanged(run, move_some, changed);
	return err == OK && !run->is_interrupted ? fold(run, changed) : err;
}

static enum err finish_some(const struct run *run, int64_t *changed)
{
	struct pg_params params = { 0 };
	pg_params_day(&params, calendar_day_ago(run, run->config->daily_rollups_delay_s) - 1);
	pg_params_int(&params, run->config->rollup_hours_keep_days);
	pg_params_int(&params, RUN_BATCH_ROWS);
	return pg_conn_query_int(run->conn,
	                         "SELECT rollup_finish_day($1, $2::integer, $3::integer)", &params,
	                         changed);
}

enum err rollups_finish(struct run *run, int64_t *changed)
{
	enum err err = calendar_check_skew(run);
	return err == OK ? run_until_unchanged(run, finish_some, changed) : err;
}
