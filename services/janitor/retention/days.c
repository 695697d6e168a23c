#include "services/janitor/retention/days.h"

#include <stdlib.h>

#include "lib/base/array.h"
#include "lib/clicks/salt_store.h"

enum err days_check_skew(const struct run *run)
{
	int64_t now_us = 0;
	if (run->config->clock_skew_max_s == ENV_UNLIMITED)
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

/* Without change: the oldest one is not old enough. */
static enum err drop_oldest_partition(const struct run *run, int64_t *changed)
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

/* --- the task "retention" --- */

static enum err delete_some_orphan_statistics(const struct run *run, int64_t *changed)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, RUN_BATCH_ROWS);
	return pg_conn_query_int(run->conn, "SELECT statistics_delete_orphans($1)", &params,
	                         changed);
}

/* Ends at the end of the scan, not at a batch that deletes nothing: later ones may delete more. */
static enum err delete_orphan_statistics(struct run *run, int64_t *changed)
{
	int64_t position = 0;
	enum err err;
	do {
		if (shutdown_requested(run->shutdown)) {
			run->is_interrupted = true;
			return OK;
		}
		err = run_batch(run, delete_some_orphan_statistics, changed);
		if (err == OK)
			err = pg_conn_query_int(run->conn, "SELECT link_id FROM statistics_sweep",
			                        NULL, &position);
	} while (err == OK && position >= 0);
	return err;
}

/*
 * Ids rise with time, except where a transaction committed late, so the primary key finds the
 * oldest entries. A late entry is found by a later run.
 */
static enum err delete_audit_log(struct run *run, int64_t *changed)
{
	struct pg_params params = { 0 };
	int64_t kept_days = run->config->audit_log_keep_days;
	if (kept_days == ENV_UNLIMITED)
		return OK;
	pg_params_time(&params, clock_now_us(run->clock) - kept_days * CLOCK_US_PER_DAY);
	return run_delete(
		run,
		"DELETE FROM audit_log WHERE id = ANY (ARRAY("
		"SELECT id FROM (SELECT id, at FROM audit_log ORDER BY id LIMIT $2) AS oldest "
		"WHERE at < $1))",
		&params, changed);
}

/* Ids have gaps, so this keeps at most AUDIT_LOG_ENTRIES_MAX entries. */
static enum err delete_audit_log_excess(struct run *run, int64_t *changed)
{
	struct pg_params params = { 0 };
	int64_t deleted = 0;
	if (run->config->audit_log_entries_max == ENV_UNLIMITED)
		return OK;
	pg_params_int(&params, run->config->audit_log_entries_max);
	enum err err = run_delete(
		run,
		"DELETE FROM audit_log WHERE id = ANY (ARRAY(SELECT id FROM audit_log "
		"WHERE id <= (SELECT max(id) FROM audit_log) - $1 ORDER BY id LIMIT $2))",
		&params, &deleted);
	metrics_add(run->audit_log_dropped, deleted);
	*changed += deleted;
	return err;
}

/*
 * By ctid: a key that is used again meanwhile gets a new row with another ctid, and that row stays.
 */
#define DELETE_OLDER_SQL(table, time, hours)                                                       \
	"DELETE FROM " table " WHERE ctid = ANY (ARRAY(SELECT ctid FROM " table " WHERE " time     \
	" < statement_timestamp() - interval '" hours " hours' ORDER BY " time " LIMIT $1))"

#define OLD_KEY "created_at < statement_timestamp() - interval '24 hours'"

static const char *const deletions[] = {
	/* By key, because responses may not be read. A key that is used again meanwhile is young. */
	"DELETE FROM idempotency_keys WHERE key_hash = ANY (ARRAY("
	"SELECT key_hash FROM idempotency_keys WHERE " OLD_KEY " ORDER BY created_at LIMIT $1)) "
	"AND " OLD_KEY,
	/* A row covers five minutes and counts until a day after their end, hence 25 hours. */
	DELETE_OLDER_SQL("link_quota_uses", "since", "25"),
	DELETE_OLDER_SQL("idempotency_uses", "since", "25"),
	DELETE_OLDER_SQL("sessions", "last_used_at", "24"),
	DELETE_OLDER_SQL("password_resets", "expires_at", "0"),
	DELETE_OLDER_SQL("email_confirmations", "expires_at", "0"),
	/* Until then its maker sees that nobody came, and who comes late is told why it ended. */
	DELETE_OLDER_SQL("invitations", "expires_at", "720"),
	/* Closed ones, after 400 days: they may have the address of who reported. */
	DELETE_OLDER_SQL("abuse_reports", "closed_at", "9600"),
	/* A deleted link still has its tags until it is purged. */
	"DELETE FROM tag_colors WHERE ctid = ANY (ARRAY(SELECT ctid FROM tag_colors AS c "
	"WHERE NOT EXISTS (SELECT FROM links WHERE links.workspace_id = c.workspace_id "
	"AND tags @> ARRAY[c.tag]) LIMIT $1))",
};

enum err days_delete_old(struct run *run, int64_t *changed)
{
	enum err err = days_check_skew(run);
	if (err == OK)
		err = run_until_unchanged(run, drop_oldest_partition, changed);
	if (err == OK && !run->is_interrupted)
		err = delete_orphan_statistics(run, changed);
	if (err == OK && !run->is_interrupted)
		err = delete_audit_log(run, changed);
	if (err == OK && !run->is_interrupted)
		err = delete_audit_log_excess(run, changed);
	for (size_t i = 0; err == OK && !run->is_interrupted && i < ARRAY_SIZE(deletions); i++) {
		struct pg_params params = { 0 };
		err = run_delete(run, deletions[i], &params, changed);
	}
	return err;
}
