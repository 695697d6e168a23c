/*
 * One thread at a time per connection. A transaction as one call: it is committed when the work in it ends with OK, and
 * rolled back when it does not.
 */
#ifndef WAYMARK_LIB_NET_PG_TRANSACTION_H
#define WAYMARK_LIB_NET_PG_TRANSACTION_H

#include "lib/net/pg_pool.h"

/* What is done in the transaction, of which it must not end any part itself. */
typedef enum err (*pg_transaction_work)(void *ctx, struct pg_conn *conn);

/* Errors: the work's own, else pg_conn_begin's or pg_conn_commit's. The connection is in no transaction afterwards. */
enum err pg_transaction_on(struct pg_conn *conn, pg_transaction_work work, void *ctx) MUST_CHECK;

/*
 * On a connection that is taken from the pool and given back. ERR_UNAVAILABLE also: none could be had, whatever
 * pg_pool_take says, so that ERR_LIMIT is the work's.
 */
enum err pg_transaction_run(struct pg_pool *pool, pg_transaction_work work, void *ctx) MUST_CHECK;

#endif
