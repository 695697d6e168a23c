#include "services/janitor/retention/rollups.h"

#include "services/janitor/retention/calendar.h"
#include "services/janitor/retention/rollup_fold.h"

static enum err fold_some(const struct run *run, int64_t *changed)
{
	return rollup_fold_step(run->ctx, run->conn, clock_now_us(run->clock),
	                        ROLLUP_FOLD_DELTAS_MAX, changed);
}

/* Ends when all deltas were looked at. A step that folds nothing may have more after it. */
static enum err fold(struct run *run, int64_t *changed)
{
	struct rollup_fold fold = { 0 };
	enum err err = OK;
	while (err == OK && !fold.is_over) {
		if (shutdown_requested(run->shutdown)) {
			run->is_interrupted = true;
			return OK;
		}
		err = run_batch_with_ctx(run, fold_some, &fold, changed);
	}
	return err;
}

static enum err move_first_hour(const struct run *run, int64_t *changed)
{
	struct pg_params params = { 0 };
	pg_params_day(&params, calendar_today(run) - (int32_t)run->config->rollup_hours_keep_days);
	*changed = 0;
	return pg_conn_query(
		run->conn,
		"UPDATE rollup_progress SET hours_since = $1::date WHERE hours_since < $1::date",
		&params, NULL);
}

/* One day later than hours_since says, because a reader may still rely on the previous one. */
#define DELETE_SQL(table)                                                                              \
	"DELETE FROM " table " WHERE ctid = ANY (ARRAY(SELECT ctid FROM " table                        \
	" WHERE hour < (SELECT (hours_since - 1)::timestamp AT TIME ZONE 'UTC' FROM rollup_progress) " \
	"ORDER BY hour LIMIT $1::bigint))"

static enum err delete_some(const struct run *run, const char *sql, int64_t *changed)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	pg_params_int(&params, RUN_BATCH_ROWS);
	enum err err = pg_conn_query(run->conn, sql, &params, &rows);
	if (err == OK)
		*changed = pg_result_changed(rows);
	pg_result_free(rows);
	return err;
}

static enum err delete_hours(const struct run *run, int64_t *changed)
{
	return delete_some(run, DELETE_SQL("rollup_hour"), changed);
}

static enum err delete_account_hours(const struct run *run, int64_t *changed)
{
	return delete_some(run, DELETE_SQL("rollup_account_hour"), changed);
}

enum err rollups_run(struct run *run, int64_t *changed)
{
	enum err err = fold(run, changed);
	if (err == OK && !run->is_interrupted)
		err = calendar_check_skew(run);
	if (err == OK && !run->is_interrupted)
		err = run_batch(run, move_first_hour, changed);
	if (err == OK && !run->is_interrupted)
		err = run_batches(run, delete_hours, changed);
	if (err == OK && !run->is_interrupted)
		err = run_batches(run, delete_account_hours, changed);
	return err;
}
