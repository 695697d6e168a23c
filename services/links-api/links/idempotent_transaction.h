/*
 * One thread at a time, as its request. The transaction of a POST that creates links. With an
 * Idempotency-Key, it takes effect once: a repeat finds the stored response of the first request.
 *
 *   struct idempotent_transaction tx;
 *   if (idempotent_transaction_init(&tx, r) != OK)
 *           return HTTP_COMPLETE;
 *   err = idempotent_transaction_run(&tx, execute, ctx);
 *   if (err == OK && tx.state != IDEMPOTENCY_NEW)
 *           idempotent_transaction_answer(&tx);
 *   …
 *   idempotent_transaction_clear(&tx);
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_IDEMPOTENT_TRANSACTION_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_IDEMPOTENT_TRANSACTION_H

#include "lib/postgres/pg_conn.h"
#include "services/links-api/http/request.h"
#include "services/links-api/links/idempotency.h"
#include "services/links-api/links/stored_response.h"

struct idempotent_transaction {
	struct request *request;
	struct idempotency key;
	/* After run: the request was executed only if it is IDEMPOTENCY_NEW. */
	enum idempotency_state state;
	/* Filled by execute, or by run for IDEMPOTENCY_REPLAY. */
	struct stored_response response;
	/* Of IDEMPOTENCY_REPLAY. */
	struct idempotency_row stored;
	/* For execute. */
	struct pg_conn *conn;
};

/*
 * ERR_INVALID: the Idempotency-Key is malformed; the request has been answered. Else end it with
 * _clear.
 */
enum err idempotent_transaction_init(struct idempotent_transaction *tx,
                                     struct request *r) MUST_CHECK;
void idempotent_transaction_clear(struct idempotent_transaction *tx);

/* Writes tx->response and calls idempotent_transaction_save. */
typedef enum err (*idempotent_transaction_work)(void *ctx, struct idempotent_transaction *tx);

/*
 * Begins, looks up the key, executes and commits. If the transaction conflicts with another one
 * (ERR_CONFLICT), it runs again: a second try resolves deadlocks and purges; new conflicts can need
 * more, up to five tries. Blocks. ERR_UNAVAILABLE also: no connection is free.
 */
enum err idempotent_transaction_run(struct idempotent_transaction *tx,
                                    idempotent_transaction_work execute, void *ctx) MUST_CHECK;

/*
 * Stores tx->response for repeats. slugs: the links that it describes. Does nothing without a key,
 * or if the state is not IDEMPOTENCY_NEW.
 */
enum err idempotent_transaction_save(struct idempotent_transaction *tx, char (*slugs)[SLUG_SIZE],
                                     size_t slug_count) MUST_CHECK;

/*
 * Answers a request that was not executed (the state is not IDEMPOTENCY_NEW): replays the stored
 * response, or answers 409, 422 or 429. A replay first makes sure that Redis has the links: the
 * server of the first request may have been killed between its commit and its cache update. Blocks:
 * for worker threads.
 */
enum http_progress idempotent_transaction_answer(const struct idempotent_transaction *tx);

#endif
