#include "services/janitor/partitions.h"

/*
 * Making a partition locks the default one, and whoever reads visit_log then queues up behind: better to give up soon
 * and try again later. Days that have theirs are found without any lock.
 */
static enum err make_missing(const struct run *run, int64_t *changed)
{
	enum err err = pg_conn_query(run->conn, "SET LOCAL lock_timeout = '2s'", NULL, NULL);
	if (err != OK)
		return err;
	int32_t today = clock_utc_day(clock_now_us(run->clock));
	struct pg_params params = { 0 };
	pg_params_day(&params, today);
	pg_params_day(&params, today + PARTITIONS_AHEAD_DAYS);
	struct pg_result *rows = NULL;
	/* One day per transaction: the lock is held for as short as can be. */
	err = pg_conn_query(run->conn,
	                    "SELECT visit_log_make_partition(day) FROM ("
	                    "SELECT day::date AS day FROM generate_series($1::date, $2::date, interval '1 day') AS day "
	                    "WHERE to_regclass('public.visit_log_' || to_char(day, 'YYYYMMDD')) IS NULL "
	                    "ORDER BY day LIMIT 1) AS missing",
	                    &params, &rows);
	if (err == OK)
		*changed = pg_result_bool(rows, 0, 0) ? 1 : 0;
	pg_result_free(rows);
	return err;
}

enum err partitions_run(struct run *run, int64_t *changed)
{
	int64_t before;
	enum err err;
	do {
		before = *changed;
		err = run_batch(run, make_missing, changed);
	} while (err == OK && *changed > before && !shutdown_requested(run->shutdown));
	return err;
}
