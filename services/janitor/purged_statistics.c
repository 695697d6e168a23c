#include "services/janitor/purged_statistics.h"

static enum err forget(const struct run *run, int64_t *changed)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, RUN_BATCH_ROWS);
	return pg_conn_query_int(run->conn, "SELECT statistics_forget_purged($1)", &params, changed);
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
			err = pg_conn_query_int(run->conn, "SELECT link_id FROM statistics_sweep", NULL, &reached);
	} while (err == OK && reached >= 0);
	return err;
}
