#include "services/janitor/retention/days.h"

#include <stdlib.h>

#include "lib/clicks/salt_store.h"

enum err days_check_skew(const struct run *run)
{
	int64_t now_us = 0;
	if (run->config->clock_skew_max_s == 0)
		return OK;
	enum err err = pg_conn_query_int(
		run->conn, "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint", NULL,
		&now_us);
	int64_t difference_us = now_us - clock_now_us(run->clock);
	if (err != OK || llabs(difference_us) <= run->config->clock_skew_max_s * CLOCK_US_PER_S)
		return err;
	log_error(run->log, "clock_skew_too_large",
	          LOG_INT("postgres_ahead_ms", difference_us / CLOCK_US_PER_MS));
	return ERR_INVALID;
}

static int32_t day_ago(const struct run *run, int64_t seconds)
{
	return clock_utc_day(clock_now_us(run->clock) - seconds * CLOCK_US_PER_S);
}

int32_t days_today(const struct run *run)
{
	return day_ago(run, 0);
}

/* --- partitions --- */

static int32_t oldest_kept_day(const struct run *run)
{
	return days_today(run) - (int32_t)run->config->visit_log_keep_days;
}

/* Of the transaction, so that batches do not wait for longer. */
static enum err set_timeouts(struct pg_conn *conn)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, DAYS_LOCK_TIMEOUT_MS);
	pg_params_int(&params, DAYS_STATEMENT_TIMEOUT_MS);
	return pg_conn_query(conn,
	                     "SELECT set_config('lock_timeout', $1::text, true), "
	                     "set_config('statement_timeout', $2::text, true)",
	                     &params, NULL);
}

/* One partition per transaction, so that its locks are held as briefly as possible. */
static enum err make_next_partition(const struct run *run, int64_t *changed)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	int32_t today = days_today(run);
	pg_params_day(&params, today);
	pg_params_day(&params, today + DAYS_OF_PARTITIONS_AHEAD);
	pg_params_int(&params, RUN_BATCH_ROWS);
	enum err err = set_timeouts(run->conn);
	if (err == OK)
		err = pg_conn_query(
			run->conn,
			"SELECT day, visit_log_make_partition(day, $3::integer) FROM ("
			"SELECT each::date AS day FROM generate_series($1::date, $2::date, interval '1 day') AS each "
			"WHERE to_regclass('visit_log_' || to_char(each, 'YYYYMMDD')) IS NULL "
			"AND (SELECT count(*) FROM (SELECT FROM visit_log_default AS d WHERE d.day = each::date "
			"LIMIT $3::integer + 1) AS early) <= $3::integer ORDER BY day LIMIT 1) AS missing",
			&params, &rows);
	*changed = pg_result_count(rows) > 0 && pg_result_bool(rows, 0, 1);
	if (pg_result_count(rows) > 0 && *changed == 0)
		log_warning(run->log, "partition_not_made",
		            LOG_TEXT("day", pg_result_text(rows, 0, 0)));
	pg_result_free(rows);
	return err;
}

static enum err delete_expired_clicks(const struct run *run, int64_t *changed)
{
	struct pg_params params = { 0 };
	pg_params_day(&params, oldest_kept_day(run));
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

enum err days_make_partitions(struct run *run, int64_t *changed)
{
	enum err err = days_check_skew(run);
	if (err == OK)
		err = run_batches(run, delete_expired_clicks, changed);
	if (err == OK && !run->is_interrupted)
		err = run_until_unchanged(run, make_next_partition, changed);
	return err;
}

enum err days_drop_oldest_partition(const struct run *run, int64_t *changed)
{
	struct pg_params params = { 0 };
	pg_params_day(&params, oldest_kept_day(run));
	enum err err = set_timeouts(run->conn);
	if (err != OK)
		return err;
	return pg_conn_query_int(run->conn, "SELECT visit_log_drop_partition($1)::int", &params,
	                         changed);
}

/* --- salts --- */

static enum err create_salts(const struct run *run, int64_t *changed)
{
	int32_t today = days_today(run);
	return salt_store_create_missing(run->conn, today, today + DAYS_OF_SALTS_AHEAD, changed);
}

static enum err delete_old_salts(const struct run *run, int64_t *changed)
{
	return salt_store_delete_before(run->conn, day_ago(run, run->config->salts_keep_s),
	                                changed);
}

enum err days_make_salts(struct run *run, int64_t *changed)
{
	enum err err = days_check_skew(run);
	if (err == OK)
		err = run_batch(run, create_salts, changed);
	if (err == OK)
		err = run_batch(run, delete_old_salts, changed);
	return err;
}
