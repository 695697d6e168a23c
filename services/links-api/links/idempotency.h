/*
 * One thread at a time, as its request. A POST with an Idempotency-Key takes effect once, however
 * often it is sent (draft-ietf-httpapi-idempotency-key-header; 1 to 255 visible ASCII characters).
 *
 * The response to a successful request is stored for 24 hours and replayed to repeats. A request
 * that failed stores nothing: it can be retried with the same key. A key belongs to the user, or
 * without a login to the client's network.
 *
 * The response is stored in the same transaction as the change that it describes. A crash therefore
 * cannot leave one without the other, and it releases the key at once.
 *
 * A user may store IDEMPOTENCY_BYTES_PER_DAY. The response that exceeds it is the last one for that
 * time: it is stored whole.
 *
 * Keys are stored as HMACs. Responses hold no secret, neither where they are stored nor when they
 * are replayed: a claim token is in the first response alone, because a neighbour in the same
 * network could send the key of an anonymous request.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_IDEMPOTENCY_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_IDEMPOTENCY_H

#include <stdbool.h>

#include "lib/base/digest.h"
#include "services/links-api/http/request.h"
#include "services/links-api/links/idempotency_store.h"
#include "services/links-api/links/stored_response.h"

#define IDEMPOTENCY_KEY_MAX 255

struct idempotency {
	/* The request has an Idempotency-Key. */
	bool has_key;
	/* 0 = without a login. */
	int64_t user_id;
	int64_t now_us;
	/* Of the bytes that may be stored; max 0 = no limit. */
	struct rate_limit_rule rule;
	struct rate_limit_state state;
	uint8_t key_hash[DIGEST_SIZE];
	uint8_t request_hash[DIGEST_SIZE];
};

/* Reads the header. ERR_INVALID: the key is malformed. Without the header: OK, has_key is false. */
enum err idempotency_read(struct request *r, struct idempotency *out) MUST_CHECK;

enum idempotency_state {
	IDEMPOTENCY_NEW,       /* first request with this key, or no key: execute it */
	IDEMPOTENCY_REPLAY,    /* already executed: a stored response exists */
	IDEMPOTENCY_MISMATCH,  /* the key was used with a different path or body */
	IDEMPOTENCY_IN_FLIGHT, /* another transaction is executing the request */
	IDEMPOTENCY_FULL,      /* new, but the user has stored IDEMPOTENCY_BYTES_PER_DAY */
};

/*
 * Call first in the transaction. With IDEMPOTENCY_REPLAY, *response is the stored one and *row
 * lists the links that it describes; clear row with idempotency_store_clear. Errors of
 * idempotency_store_acquire.
 */
enum err idempotency_begin(struct idempotency *i, struct pg_conn *conn,
                           enum idempotency_state *state, struct stored_response *response,
                           struct idempotency_row *row) MUST_CHECK;

/*
 * Call last before the commit. slugs: the links that the response describes. Does nothing without a
 * key.
 */
enum err idempotency_save(const struct idempotency *i, struct pg_conn *conn,
                          const struct stored_response *response, char (*slugs)[SLUG_SIZE],
                          size_t slug_count) MUST_CHECK;

/* Answers 400: the key is malformed. */
enum http_progress idempotency_answer_bad_key(struct request *r);
/*
 * Answers 409 with Retry-After for IDEMPOTENCY_IN_FLIGHT, 422 for IDEMPOTENCY_MISMATCH, 429 for
 * IDEMPOTENCY_FULL.
 */
enum http_progress idempotency_answer_conflict(struct request *r, const struct idempotency *i,
                                               enum idempotency_state state);

#endif
