#include "lib/postgres/pg_transaction.h"

enum err pg_transaction_on(struct pg_conn *conn, pg_transaction_work work, void *ctx)
{
	enum err err = pg_conn_begin(conn);
	if (err != OK)
		return err;
	err = work(ctx, conn);
	if (err == OK)
		err = pg_conn_commit(conn);
	if (err != OK)
		pg_conn_rollback(conn);
	return err;
}

enum err pg_transaction_run(struct pg_pool *pool, pg_transaction_work work, void *ctx)
{
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(pool, &conn);
	if (err != OK)
		return err == ERR_LIMIT ? ERR_UNAVAILABLE : err;
	err = pg_transaction_on(conn, work, ctx);
	pg_pool_release(pool, conn);
	return err;
}
