#include "services/janitor/retention/retention.h"

#include "services/janitor/retention/calendar.h"
#include "services/janitor/retention/partitions.h"

/* Runs a DELETE; *changed: rows deleted. */
static enum err delete_rows(const struct run *run, const char *sql, const struct pg_params *params,
                            int64_t *changed)
{
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(run->conn, sql, params, &rows);
	if (err == OK)
		*changed = pg_result_changed(rows);
	pg_result_free(rows);
	return err;
}

static enum err delete_some_orphan_statistics(const struct run *run, int64_t *changed)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, RUN_BATCH_ROWS);
	return pg_conn_query_int(run->conn, "SELECT statistics_delete_orphans($1)", &params,
	                         changed);
}

/* Ends at the end of the scan and not at a batch that deletes nothing: later batches may delete
 * more. */
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
static enum err delete_audit_log(const struct run *run, int64_t *changed)
{
	struct pg_params params = { 0 };
	int64_t kept_us = run->config->audit_log_keep_days * CLOCK_US_PER_DAY;
	pg_params_time(&params, clock_now_us(run->clock) - kept_us);
	pg_params_int(&params, RUN_BATCH_ROWS);
	return delete_rows(
		run,
		"DELETE FROM audit_log WHERE id = ANY (ARRAY("
		"SELECT id FROM (SELECT id, at FROM audit_log ORDER BY id LIMIT $2) AS oldest "
		"WHERE at < $1))",
		&params, changed);
}

/* Ids have gaps, so this keeps at most AUDIT_LOG_ENTRIES_MAX entries. */
static enum err delete_audit_log_excess(const struct run *run, int64_t *changed)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, run->config->audit_log_entries_max);
	pg_params_int(&params, RUN_BATCH_ROWS);
	enum err err = delete_rows(
		run,
		"DELETE FROM audit_log WHERE id = ANY (ARRAY(SELECT id FROM audit_log "
		"WHERE id <= (SELECT max(id) FROM audit_log) - $1 ORDER BY id LIMIT $2))",
		&params, changed);
	if (err == OK)
		metrics_add(run->audit_log_dropped, *changed);
	return err;
}

static enum err limit_audit_log(struct run *run, int64_t *changed)
{
	enum err err = OK;
	if (run->config->audit_log_keep_days > 0)
		err = run_batches(run, delete_audit_log, changed);
	if (err == OK && !run->is_interrupted && run->config->audit_log_entries_max > 0)
		err = run_batches(run, delete_audit_log_excess, changed);
	return err;
}

/*
 * By ctid: a key that is used again meanwhile gets a new row with another ctid, and that row stays.
 */
#define DELETE_OLDER_SQL(table, time, hours)                                                       \
	"DELETE FROM " table " WHERE ctid = ANY (ARRAY(SELECT ctid FROM " table " WHERE " time     \
	" < statement_timestamp() - interval '" hours " hours' ORDER BY " time " LIMIT $1))"

#define OLD_KEY "created_at < statement_timestamp() - interval '24 hours'"

/* By key, because responses may not be read. A key that is used again meanwhile is young. */
static enum err delete_idempotency_keys(const struct run *run, int64_t *changed)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, RUN_BATCH_ROWS);
	return delete_rows(run,
	                   "DELETE FROM idempotency_keys WHERE key_hash = ANY (ARRAY("
	                   "SELECT key_hash FROM idempotency_keys WHERE " OLD_KEY
	                   " ORDER BY created_at LIMIT $1)) "
	                   "AND " OLD_KEY,
	                   &params, changed);
}

/* A row covers five minutes and counts until a day after their end, hence 25 hours. */
static enum err delete_link_quota_uses(const struct run *run, int64_t *changed)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, RUN_BATCH_ROWS);
	return delete_rows(run, DELETE_OLDER_SQL("link_quota_uses", "since", "25"), &params,
	                   changed);
}

static enum err delete_idempotency_uses(const struct run *run, int64_t *changed)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, RUN_BATCH_ROWS);
	return delete_rows(run, DELETE_OLDER_SQL("idempotency_uses", "since", "25"), &params,
	                   changed);
}

static enum err delete_sessions(const struct run *run, int64_t *changed)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, RUN_BATCH_ROWS);
	return delete_rows(run, DELETE_OLDER_SQL("sessions", "last_used_at", "24"), &params,
	                   changed);
}

/* A deleted link still has its tags until it is purged. */
static enum err delete_unused_tag_colors(const struct run *run, int64_t *changed)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, RUN_BATCH_ROWS);
	return delete_rows(
		run,
		"DELETE FROM tag_colors WHERE ctid = ANY (ARRAY(SELECT ctid FROM tag_colors AS c "
		"WHERE NOT EXISTS (SELECT FROM links WHERE links.owner_id = c.owner_id "
		"AND tags @> ARRAY[c.tag]) LIMIT $1))",
		&params, changed);
}

enum err retention_run(struct run *run, int64_t *changed)
{
	enum err err = calendar_check_skew(run);
	if (err == OK)
		err = run_until_unchanged(run, partitions_drop_oldest, changed);
	if (err == OK && !run->is_interrupted)
		err = delete_orphan_statistics(run, changed);
	if (err == OK && !run->is_interrupted)
		err = limit_audit_log(run, changed);
	if (err == OK && !run->is_interrupted)
		err = run_batches(run, delete_idempotency_keys, changed);
	if (err == OK && !run->is_interrupted)
		err = run_batches(run, delete_link_quota_uses, changed);
	if (err == OK && !run->is_interrupted)
		err = run_batches(run, delete_idempotency_uses, changed);
	if (err == OK && !run->is_interrupted)
		err = run_batches(run, delete_sessions, changed);
	if (err == OK && !run->is_interrupted)
		err = run_batches(run, delete_unused_tag_colors, changed);
	return err;
}
