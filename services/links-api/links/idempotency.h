/*
 * One thread at a time, as its request. The transaction of a request that creates links. With an
 * Idempotency-Key, a POST takes effect once, however often it is sent
 * (draft-ietf-httpapi-idempotency-key-header; 1 to 255 visible ASCII characters).
 *
 * The response to a successful request is built before the commit, stored in the same transaction
 * (table idempotency_keys) for 24 hours, and replayed to repeats. A crash therefore cannot leave
 * one without the other, and it releases the key at once. A request that failed stores nothing: it
 * can be retried with the same key. A key belongs to the user, or without a login to the client's
 * network.
 *
 * A user may store IDEMPOTENCY_BYTES_PER_DAY (table idempotency_uses). The response that exceeds it
 * is the last one for that time: it is stored whole.
 *
 * Keys are stored as HMACs. Responses hold no secret, neither where they are stored nor when they
 * are replayed: a claim token is in the first response alone, because a neighbour in the same
 * network could send the key of an anonymous request.
 *
 *   struct idempotency i;
 *   if (idempotency_init(&i, r) != OK)
 *           return HTTP_COMPLETE;
 *   err = idempotency_run(&i, execute, ctx);
 *   if (err == OK && i.state != IDEMPOTENCY_NEW)
 *           idempotency_answer(&i);
 *   …
 *   idempotency_clear(&i);
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_IDEMPOTENCY_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_IDEMPOTENCY_H

#include <stdbool.h>

#include "lib/base/digest.h"
#include "lib/base/strbuf.h"
#include "lib/postgres/pg_conn.h"
#include "services/links-api/destinations/public_base.h"
#include "services/links-api/http/etag.h"
#include "services/links-api/http/request.h"

#define IDEMPOTENCY_LOCATION_SIZE (PUBLIC_BASE_SHORT_URL_SIZE + 32)

enum idempotency_state {
	IDEMPOTENCY_NEW,       /* first request with this key, or no key: executed */
	IDEMPOTENCY_REPLAY,    /* already executed: a stored response exists */
	IDEMPOTENCY_MISMATCH,  /* the key was used with a different path or body */
	IDEMPOTENCY_IN_FLIGHT, /* another transaction is executing the request */
	IDEMPOTENCY_FULL,      /* new, but the user has stored IDEMPOTENCY_BYTES_PER_DAY */
};

struct idempotency_response {
	unsigned status;
	/* "" = no header; the same for etag. */
	char location[IDEMPOTENCY_LOCATION_SIZE];
	char etag[ETAG_SIZE];
	/* JSON. */
	struct strbuf body;
};

struct idempotency {
	struct request *request;
	/* The request has an Idempotency-Key, and what is stored of it. */
	bool has_key;
	uint8_t key_hash[DIGEST_SIZE];
	uint8_t request_hash[DIGEST_SIZE];
	/* Of the bytes that may be stored; ENV_UNLIMITED = no limit. */
	struct rate_limit_rule rule;
	/* Of IDEMPOTENCY_FULL. */
	int64_t reset_s;
	/* After run: the request was executed only if it is IDEMPOTENCY_NEW. */
	enum idempotency_state state;
	/* For execute. */
	struct pg_conn *conn;
	/* Filled by execute, or by run for IDEMPOTENCY_REPLAY. */
	struct idempotency_response response;
	/* Of IDEMPOTENCY_REPLAY: the links that the response describes; owned. */
	char (*slugs)[SLUG_SIZE];
	size_t slug_count;
};

/*
 * ERR_INVALID: the Idempotency-Key is malformed; the request has been answered. Else end it with
 * _clear.
 */
enum err idempotency_init(struct idempotency *i, struct request *r) MUST_CHECK;
void idempotency_clear(struct idempotency *i);

/* Sets the response and calls idempotency_save. */
typedef enum err (*idempotency_work)(void *ctx, struct idempotency *i);

/*
 * Begins, looks up the key, executes and commits. If the transaction conflicts with another one
 * (ERR_CONFLICT), it runs again: a second try resolves deadlocks and purges; new conflicts can need
 * more, up to five tries. Blocks. ERR_UNAVAILABLE also: no connection is free.
 */
enum err idempotency_run(struct idempotency *i, idempotency_work execute, void *ctx) MUST_CHECK;

/*
 * Replaces status and body of the response; Location and ETag stay. Takes body. ERR_LIMIT: body is
 * too long.
 */
enum err idempotency_set_response(struct idempotency *i, unsigned status,
                                  struct json *body) MUST_CHECK;

/*
 * Stores the response for repeats. slugs: the links that it describes. Does nothing without a key.
 */
enum err idempotency_save(struct idempotency *i, char (*slugs)[SLUG_SIZE],
                          size_t slug_count) MUST_CHECK;

/* After the commit. */
enum http_progress idempotency_send_response(const struct idempotency *i);

/*
 * Answers a request that was not executed (the state is not IDEMPOTENCY_NEW): replays the stored
 * response, or answers 409 with Retry-After, 422 or 429. A replay first makes sure that Redis has
 * the links: the server of the first request may have been killed between its commit and its cache
 * update. Blocks: for worker threads.
 */
enum http_progress idempotency_answer(const struct idempotency *i);

#endif
