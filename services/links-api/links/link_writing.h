/*
 * One thread at a time, as its request. The way of every POST that makes links: one transaction, once per
 * Idempotency-Key, and Redis told before anybody hears of it.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_LINK_WRITING_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_LINK_WRITING_H

#include "lib/net/pg_conn.h"
#include "services/links-api/links/idempotency.h"
#include "services/links-api/links/kept_answer.h"
#include "services/links-api/request.h"

/* What the handler does; ctx is its own. */
struct link_writing_steps {
	/*
	 * In the transaction, after which nothing may be left of an earlier call: fills answer. OK commits. ERR_CONFLICT:
	 * somebody came between, once more from the beginning. Any other error rolls back, and is the handler's to answer.
	 */
	enum err (*write)(void *ctx, struct pg_conn *conn, struct kept_answer *answer);
	/* Of the links that answer tells of: a copy for the caller to free. */
	char (*(*slugs)(void *ctx, size_t *count))[SLUG_SIZE];
	/* Before the commit; may be NULL. */
	void (*reserve)(void *ctx);
	/* After the commit: link_telling. */
	void (*tell)(void *ctx);
};

enum link_writing_end {
	LINK_WRITING_WRITTEN,  /* the transaction was committed; answer is to be sent */
	LINK_WRITING_REFUSED,  /* by write, with err */
	LINK_WRITING_ANSWERED, /* without write: a kept answer, or one about the key */
};

struct link_writing {
	struct request *request;
	const struct link_writing_steps *steps;
	void *ctx;
	struct idempotency key;
	struct kept_answer answer;
	enum idempotency_state state;
	struct idempotency_row kept;
	enum err err;
};

/* ERR_INVALID: the key is none, and the request has been answered. Otherwise end it with link_writing_clear. */
enum err link_writing_init(struct link_writing *w, struct request *r, const struct link_writing_steps *steps,
                           void *ctx) MUST_CHECK;
void link_writing_clear(struct link_writing *w);

/* Blocks: for worker threads. */
enum link_writing_end link_writing_run(struct link_writing *w);

#endif
