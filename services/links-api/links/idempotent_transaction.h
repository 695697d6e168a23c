/*
 * One thread at a time, as its request. The transaction of a POST that creates links. With an
 * Idempotency-Key, it takes effect once: a repeat finds the stored response of the first request.
 *
 * The handler stays in control and reads from top to bottom:
 *
 *   struct idempotent_transaction tx;
 *   if (idempotent_transaction_init(&tx, r) != OK)
 *           return HTTP_COMPLETE;
 *   do {
 *           err = idempotent_transaction_begin(&tx);
 *           if (err == OK && tx.state == IDEMPOTENCY_NEW)
 *                   err = execute(…, tx.conn, &tx.response);
 *           if (err == OK)
 *                   err = idempotent_transaction_save(&tx, slugs, slug_count);
 *           err = idempotent_transaction_end(&tx, err);
 *   } while (idempotent_transaction_must_retry(&tx, err));
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
	enum idempotency_state state; /* after begin: execute only if it is IDEMPOTENCY_NEW */
	struct stored_response
		response; /* the handler fills it, or begin does for IDEMPOTENCY_REPLAY */
	struct idempotency_row stored; /* of IDEMPOTENCY_REPLAY */
	struct pg_conn *conn;          /* NULL outside begin … end */
	int tries;
};

/*
 * ERR_INVALID: the Idempotency-Key is malformed; the request has been answered. Else end it with
 * _clear.
 */
enum err idempotent_transaction_init(struct idempotent_transaction *tx,
                                     struct request *r) MUST_CHECK;
void idempotent_transaction_clear(struct idempotent_transaction *tx);

/*
 * Takes a connection, begins the transaction and looks up the key. Blocks. Always call
 * idempotent_transaction_end afterwards. ERR_UNAVAILABLE also: no connection is free.
 */
enum err idempotent_transaction_begin(struct idempotent_transaction *tx) MUST_CHECK;

/*
 * Stores tx->response for repeats. slugs: the links that it describes. Does nothing without a key,
 * or if the state is not IDEMPOTENCY_NEW.
 */
enum err idempotent_transaction_save(struct idempotent_transaction *tx, char (*slugs)[SLUG_SIZE],
                                     size_t slug_count) MUST_CHECK;

/*
 * Commits if err is OK, rolls back otherwise, and returns the connection to the pool. Returns err
 * or the error of the commit.
 */
enum err idempotent_transaction_end(struct idempotent_transaction *tx, enum err err) MUST_CHECK;

/*
 * True if the transaction conflicted with another one (err is ERR_CONFLICT) and should run again,
 * from begin. A second try resolves deadlocks and purges; new conflicts can need more, up to five
 * tries.
 */
bool idempotent_transaction_must_retry(const struct idempotent_transaction *tx, enum err err);

/*
 * Answers a request that was not executed (the state is not IDEMPOTENCY_NEW): replays the stored
 * response, or answers 409, 422 or 429. A replay first makes sure that Redis has the links: the
 * server of the first request may have been killed between its commit and its cache update. Blocks:
 * for worker threads.
 */
enum http_progress idempotent_transaction_answer(const struct idempotent_transaction *tx);

#endif
