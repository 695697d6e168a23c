#include "services/janitor/retention/retention.h"

#include "lib/base/array.h"
#include "services/janitor/retention/days.h"

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
static enum err delete_audit_log(struct run *run, int64_t *changed)
{
	struct pg_params params = { 0 };
	int64_t kept_us = run->config->audit_log_keep_days * CLOCK_US_PER_DAY;
	if (kept_us == 0)
		return OK;
	pg_params_time(&params, clock_now_us(run->clock) - kept_us);
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
	if (run->config->audit_log_entries_max == 0)
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
	/* A deleted link still has its tags until it is purged. */
	"DELETE FROM tag_colors WHERE ctid = ANY (ARRAY(SELECT ctid FROM tag_colors AS c "
	"WHERE NOT EXISTS (SELECT FROM links WHERE links.owner_id = c.owner_id "
	"AND tags @> ARRAY[c.tag]) LIMIT $1))",
};

enum err retention_run(struct run *run, int64_t *changed)
{
	enum err err = days_check_skew(run);
	if (err == OK)
		err = run_until_unchanged(run, days_drop_oldest_partition, changed);
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
