#include "services/links-api/links/link_writing.h"

#include <stdlib.h>

#include "lib/base/mem.h"
#include "lib/links/outbox.h"
#include "lib/net/pg_transaction.h"
#include "services/links-api/answer.h"
#include "services/links-api/links/link_telling.h"

/* Whoever waits for each other in a circle, or meets a purge, is through the second time; somebody new may come between. */
#define TRIES 5

enum err link_writing_init(struct link_writing *w, struct request *r, const struct link_writing_steps *steps, void *ctx)
{
	*w = (struct link_writing){ .request = r, .steps = steps, .ctx = ctx };
	if (idempotency_read(r, &w->key) != OK) {
		idempotency_answer_bad_key(r);
		return ERR_INVALID;
	}
	kept_answer_init(&w->answer);
	return OK;
}

void link_writing_clear(struct link_writing *w)
{
	kept_answer_clear(&w->answer);
	idempotency_store_clear(&w->kept);
}

static enum err keep(struct link_writing *w, struct pg_conn *conn)
{
	if (!w->key.is_asked_for)
		return OK;
	size_t count = 0;
	char(*slugs)[SLUG_SIZE] = w->steps->slugs(w->ctx, &count);
	enum err err = idempotency_keep(&w->key, conn, &w->answer, slugs, count);
	free(slugs);
	return err;
}

/* What finds a kept answer has written nothing; its commit ends the lock on the key. */
static enum err write_on(void *ctx, struct pg_conn *conn)
{
	struct link_writing *w = ctx;
	enum err err = idempotency_begin(&w->key, conn, &w->state, &w->answer, &w->kept);
	if (err != OK || w->state != IDEMPOTENCY_NEW)
		return err;
	err = w->steps->write(w->ctx, conn, &w->answer);
	if (err == OK)
		err = keep(w, conn);
	if (err == OK && w->steps->reserve)
		w->steps->reserve(w->ctx);
	return err;
}

static enum err write(struct link_writing *w)
{
	enum err err = ERR_CONFLICT;
	for (int i = 0; i < TRIES && err == ERR_CONFLICT; i++)
		err = pg_transaction_run(w->request->api->pg, write_on, w);
	return err;
}

static enum err are_told(const struct link_writing *w, const char *const *slugs, bool *told)
{
	struct pg_pool *pool = w->request->api->pg;
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_take(pool, &conn);
	if (err != OK)
		return err;
	err = outbox_are_told(conn, slugs, w->kept.slug_count, told);
	pg_pool_give(pool, conn);
	return err;
}

/* Perhaps its first sender's server died between the commit and the telling. */
static enum err tell_kept(const struct link_writing *w)
{
	const char **slugs = mem_array(w->kept.slug_count, sizeof(*slugs));
	bool told = false;
	for (size_t i = 0; i < w->kept.slug_count; i++)
		slugs[i] = w->kept.slugs[i];
	enum err err = are_told(w, slugs, &told);
	if (err == OK && !told)
		link_telling_finish_many(w->request->api, w->request->user_id, slugs, w->kept.slug_count);
	free(slugs);
	return err;
}

static void answer_again(const struct link_writing *w)
{
	struct request *r = w->request;
	if (tell_kept(w) != OK) {
		answer_failure(r, ERR_UNAVAILABLE);
		return;
	}
	http_exchange_add_fixed_header(r->exchange, "Idempotency-Replayed", "true");
	kept_answer_send(r, &w->answer);
}

enum link_writing_end link_writing_run(struct link_writing *w)
{
	w->err = write(w);
	if (w->err != OK)
		return LINK_WRITING_REFUSED;
	switch (w->state) {
	case IDEMPOTENCY_NEW:
		w->steps->tell(w->ctx);
		return LINK_WRITING_WRITTEN;
	case IDEMPOTENCY_DONE:
		answer_again(w);
		return LINK_WRITING_ANSWERED;
	case IDEMPOTENCY_REUSED:
	case IDEMPOTENCY_IN_FLIGHT:
		idempotency_answer_refused(w->request, w->state);
		return LINK_WRITING_ANSWERED;
	}
	return LINK_WRITING_REFUSED;
}
