#include "services/janitor/audit_log.h"

/* Ids rise with time, but for who commits late: one index is enough, and those are found the next time. */
static enum err forget(const struct run *run, int64_t *changed)
{
	struct pg_params params = { 0 };
	struct pg_result *rows = NULL;
	int64_t kept_us = run->config->audit_log_keep_days * CLOCK_US_PER_DAY;
	pg_params_time(&params, clock_now_us(run->clock) - kept_us);
	pg_params_int(&params, RUN_BATCH_ROWS);
	enum err err = pg_conn_query(run->conn,
	                             "DELETE FROM audit_log WHERE id = ANY (ARRAY("
	                             "SELECT id FROM (SELECT id, at FROM audit_log ORDER BY id LIMIT $2) AS oldest "
	                             "WHERE at < $1))",
	                             &params, &rows);
	if (err == OK)
		*changed = pg_result_changed(rows);
	pg_result_free(rows);
	return err;
}

enum err audit_log_forget(struct run *run, int64_t *changed)
{
	return run->config->audit_log_keep_days > 0 ? run_batches(run, forget, changed) : OK;
}
