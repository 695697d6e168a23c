#include "services/janitor/past_requests.h"

/* A key that was used again meanwhile has got a new row under its address: that one stays. */
#define FORGET(table, time, hours)                                                                                     \
	"DELETE FROM " table " WHERE ctid = ANY (ARRAY(SELECT ctid FROM " table " WHERE " time                         \
	" < statement_timestamp() - interval '" hours " hours' ORDER BY " time " LIMIT $1))"

static enum err forget(const struct run *run, const char *sql, int64_t *changed)
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

static enum err forget_answers(const struct run *run, int64_t *changed)
{
	return forget(run, FORGET("idempotency_keys", "created_at", "24"), changed);
}

/* Five minutes count until a day after their end. */
static enum err forget_quota_uses(const struct run *run, int64_t *changed)
{
	return forget(run, FORGET("link_quota_uses", "since", "25"), changed);
}

enum err past_requests_forget(struct run *run, int64_t *changed)
{
	enum err err = run_batches(run, forget_answers, changed);
	return err == OK && !run->interrupted ? run_batches(run, forget_quota_uses, changed) : err;
}
