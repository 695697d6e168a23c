/*
 * One thread at a time per connection. Runs a function in a transaction: commits if it returns OK,
 * and rolls back if it does not.
 */
#ifndef WAYMARK_LIB_POSTGRES_PG_TRANSACTION_H
#define WAYMARK_LIB_POSTGRES_PG_TRANSACTION_H

#include "lib/postgres/pg_pool.h"

/* The work of the transaction. It must not commit or roll back itself. */
typedef enum err (*pg_transaction_work)(void *ctx, struct pg_conn *conn);

/* Errors: those of work, pg_conn_begin and pg_conn_commit. In no transaction afterwards. */
enum err pg_transaction_on(struct pg_conn *conn, pg_transaction_work work, void *ctx) MUST_CHECK;

/*
 * The same on a connection of the pool. ERR_UNAVAILABLE also: no connection was available, even if
 * pg_pool_acquire returned ERR_LIMIT. So ERR_LIMIT always comes from the work.
 */
enum err pg_transaction_run(struct pg_pool *pool, pg_transaction_work work, void *ctx) MUST_CHECK;

#endif
