#include "services/janitor/purged_statistics.h"

static enum err ask(struct pg_conn *conn, const char *sql, const struct pg_params *params, int64_t *answer)
{
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(conn, sql, params, &rows);
	if (err == OK)
		*answer = pg_result_int(rows, 0, 0);
	pg_result_free(rows);
	return err;
}

static enum err forget(const struct run *run, int64_t *changed)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, RUN_BATCH_ROWS);
	return ask(run->conn, "SELECT statistics_forget_purged($1)", &params, changed);
}

enum err purged_statistics_forget(struct run *run, int64_t *changed)
{
	int64_t reached = 0;
	enum err err;
	do {
		if (shutdown_requested(run->shutdown)) {
			run->interrupted = true;
			return OK;
		}
		err = run_batch(run, forget, changed);
		if (err == OK)
			err = ask(run->conn, "SELECT link_id FROM statistics_sweep", NULL, &reached);
	} while (err == OK && reached >= 0);
	return err;
}
