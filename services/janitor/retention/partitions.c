#include "services/janitor/retention/partitions.h"

#include "services/janitor/retention/calendar.h"

#define TEXT_OF(number) TEXT_OF_VALUE(number)
#define TEXT_OF_VALUE(number) #number

static enum err set_lock_timeout(struct pg_conn *conn)
{
	return pg_conn_query(conn, "SET LOCAL lock_timeout = " TEXT_OF(PARTITIONS_LOCK_TIMEOUT_MS),
	                     NULL, NULL);
}

/* One partition per transaction, so that its locks are held as briefly as possible. */
static enum err make_next(const struct run *run, int64_t *changed)
{
	struct pg_params params = { 0 };
	int32_t today = calendar_today(run);
	pg_params_day(&params, today);
	pg_params_day(&params, today + PARTITIONS_AHEAD_DAYS);
	enum err err = set_lock_timeout(run->conn);
	if (err != OK)
		return err;
	return pg_conn_query_int(
		run->conn,
		"SELECT count(*) FILTER (WHERE visit_log_make_partition(day)) FROM ("
		"SELECT each::date AS day FROM generate_series($1::date, $2::date, interval '1 day') AS each "
		"WHERE to_regclass('visit_log_' || to_char(each, 'YYYYMMDD')) IS NULL "
		"AND NOT EXISTS (SELECT FROM visit_log_default AS d WHERE d.day = each::date) "
		"ORDER BY day LIMIT 1) AS missing",
		&params, changed);
}

static enum err delete_expired_clicks(const struct run *run, int64_t *changed)
{
	struct pg_params params = { 0 };
	pg_params_day(&params, calendar_oldest_kept_day(run));
	pg_params_int(&params, RUN_BATCH_ROWS);
	return pg_conn_query_int(
		run->conn,
		"WITH gone AS (DELETE FROM visit_log_default WHERE (day, event_id) IN ("
		"SELECT day, event_id FROM visit_log_default WHERE day < $1::date "
		"ORDER BY day, event_id LIMIT $2) RETURNING 1), "
		"reach AS (UPDATE visit_log_reach SET since = $1::date WHERE EXISTS (SELECT FROM gone) "
		"AND (since IS NULL OR since < $1::date)) SELECT count(*) FROM gone",
		&params, changed);
}

enum err partitions_run(struct run *run, int64_t *changed)
{
	enum err err = calendar_check_skew(run);
	if (err == OK)
		err = run_batches(run, delete_expired_clicks, changed);
	if (err == OK && !run->is_interrupted)
		err = run_until_unchanged(run, make_next, changed);
	return err;
}

enum err partitions_drop_oldest(const struct run *run, int64_t *changed)
{
	struct pg_params params = { 0 };
	pg_params_day(&params, calendar_oldest_kept_day(run));
	enum err err = set_lock_timeout(run->conn);
	if (err != OK)
		return err;
	return pg_conn_query_int(run->conn, "SELECT visit_log_drop_partition($1)::int", &params,
	                         changed);
}
