#include "services/links-api/accounts/account_figures_store.h"

#define DELETE_SOME(table)                                                                         \
	"DELETE FROM " table " WHERE ctid = ANY (ARRAY(SELECT ctid FROM " table                    \
	" WHERE account_id = $1 LIMIT 500)) RETURNING 1"

enum err account_figures_store_delete_some(struct pg_conn *conn, int64_t account_id,
                                           int64_t *deleted)
{
	struct pg_params params = { 0 };
	pg_params_int(&params, account_id);
	return pg_conn_query_int(
		conn,
		"WITH hours AS (" DELETE_SOME("rollup_account_hour") "), days AS (" DELETE_SOME(
			"rollup_account_day") ") SELECT (SELECT count(*) FROM hours) + (SELECT count(*) FROM days)",
		&params, deleted);
}
