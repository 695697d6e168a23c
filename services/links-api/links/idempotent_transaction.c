#include "services/links-api/links/idempotent_transaction.h"

#include <stdlib.h>

#include "lib/base/mem.h"
#include "lib/links/outbox.h"
#include "services/links-api/http/response.h"
#include "services/links-api/links/link_cache_update.h"

#define TRIES_MAX 5

enum err idempotent_transaction_init(struct idempotent_transaction *tx, struct request *r)
{
	*tx = (struct idempotent_transaction){ .request = r };
	if (idempotency_read(r, &tx->key) != OK) {
		idempotency_answer_bad_key(r);
		return ERR_INVALID;
	}
	stored_response_init(&tx->response);
	return OK;
}

void idempotent_transaction_clear(struct idempotent_transaction *tx)
{
	stored_response_clear(&tx->response);
	idempotency_store_clear(&tx->stored);
}

/* On error, no connection is held. The pool's ERR_LIMIT would mislead the handlers. */
static enum err begin(struct idempotent_transaction *tx)
{
	struct pg_pool *pool = tx->request->api->pg;
	enum err err = pg_pool_acquire(pool, &tx->conn);
	if (err != OK)
		return err == ERR_LIMIT ? ERR_UNAVAILABLE : err;
	err = pg_conn_begin(tx->conn);
	if (err != OK) {
		pg_pool_release(pool, tx->conn);
		tx->conn = NULL;
	}
	return err;
}

static enum err begin_and_look_up(struct idempotent_transaction *tx)
{
	tx->conn = NULL;
	idempotency_store_clear(&tx->stored);
	enum err err = begin(tx);
	return err == OK ? idempotency_begin(&tx->key, tx->conn, &tx->state, &tx->response,
	                                     &tx->stored)
	                 : err;
}

enum err idempotent_transaction_save(struct idempotent_transaction *tx, char (*slugs)[SLUG_SIZE],
                                     size_t slug_count)
{
	if (tx->state != IDEMPOTENCY_NEW)
		return OK;
	return idempotency_save(&tx->key, tx->conn, &tx->response, slugs, slug_count);
}

/* Commits if err is OK, rolls back otherwise, and returns the connection to the pool. */
static enum err end(struct idempotent_transaction *tx, enum err err)
{
	if (!tx->conn)
		return err;
	if (err == OK)
		err = pg_conn_commit(tx->conn);
	if (err != OK)
		pg_conn_rollback(tx->conn);
	pg_pool_release(tx->request->api->pg, tx->conn);
	tx->conn = NULL;
	return err;
}

enum err idempotent_transaction_run(struct idempotent_transaction *tx,
                                    idempotent_transaction_work execute, void *ctx)
{
	enum err err = ERR_CONFLICT;
	for (int i = 0; err == ERR_CONFLICT && i < TRIES_MAX; i++) {
		err = begin_and_look_up(tx);
		if (err == OK && tx->state == IDEMPOTENCY_NEW)
			err = execute(ctx, tx);
		err = end(tx, err);
	}
	return err;
}

/* --- requests that were executed before --- */

static enum err are_cached(const struct idempotent_transaction *tx, const char *const *slugs,
                           bool *is_cached)
{
	struct pg_pool *pool = tx->request->api->pg;
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(pool, &conn);
	if (err != OK)
		return err;
	err = outbox_are_cached(conn, slugs, tx->stored.slug_count, is_cached);
	pg_pool_release(pool, conn);
	return err;
}

static enum err update_cache(const struct idempotent_transaction *tx)
{
	const char **slugs = mem_array(tx->stored.slug_count, sizeof(*slugs));
	bool is_cached = false;
	for (size_t i = 0; i < tx->stored.slug_count; i++)
		slugs[i] = tx->stored.slugs[i];
	enum err err = are_cached(tx, slugs, &is_cached);
	if (err == OK && !is_cached)
		link_cache_update_bulk(tx->request->api, slugs, tx->stored.slug_count);
	free(slugs);
	return err;
}

enum http_progress idempotent_transaction_answer(const struct idempotent_transaction *tx)
{
	struct request *r = tx->request;
	if (tx->state != IDEMPOTENCY_REPLAY)
		return idempotency_answer_conflict(r, &tx->key, tx->state);
	if (update_cache(tx) != OK)
		return response_failure(r, ERR_UNAVAILABLE);
	http_exchange_add_fixed_header(r->exchange, "Idempotency-Replayed", "true");
	return stored_response_send(r, &tx->response);
}
