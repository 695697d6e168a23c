/*
 * One thread at a time, as its request. POSTs that are done once, however often they are sent: those with an
 * Idempotency-Key (draft-ietf-httpapi-idempotency-key-header; 1 to 255 visible ASCII characters). What is kept, for 24
 * hours, is the answer to what was done; who was refused may try again with the same key. A key belongs to the user, or
 * without a login to the network that it came from.
 *
 * The answer is written in the transaction of what it tells of: there is no time between the two at which a crash could
 * leave one without the other, and a key whose first sender died is free at once.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_IDEMPOTENCY_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_IDEMPOTENCY_H

#include <stdbool.h>

#include "lib/base/digest.h"
#include "lib/base/seal.h"
#include "services/links-api/links/idempotency_store.h"
#include "services/links-api/links/kept_answer.h"
#include "services/links-api/request.h"

#define IDEMPOTENCY_KEY_MAX 255

struct idempotency {
	bool is_asked_for; /* the request has a key */
	uint8_t key_hash[DIGEST_SIZE];
	uint8_t request_hash[DIGEST_SIZE];
	uint8_t seal_key[SEAL_KEY_SIZE]; /* of the answer: not to be had from what is stored */
};

/* ERR_INVALID: there is a key, and it is none. */
enum err idempotency_read(struct request *r, struct idempotency *out) MUST_CHECK;

enum idempotency_state {
	IDEMPOTENCY_NEW,       /* do it, and keep the answer */
	IDEMPOTENCY_DONE,      /* the kept answer is there */
	IDEMPOTENCY_REUSED,    /* the key came with another request */
	IDEMPOTENCY_IN_FLIGHT, /* that request is being done */
};

/*
 * First thing in the transaction. IDEMPOTENCY_DONE: *answer is the kept one, and *row says which links it tells of;
 * clear it.
 */
enum err idempotency_begin(const struct idempotency *i, struct pg_conn *conn, enum idempotency_state *state,
                           struct kept_answer *answer, struct idempotency_row *row) MUST_CHECK;

/* Last thing before the commit. slugs: of the links that the answer tells of. */
enum err idempotency_keep(const struct idempotency *i, struct pg_conn *conn, const struct kept_answer *answer,
                          char (*slugs)[SLUG_SIZE], size_t slug_count) MUST_CHECK;

/* 400, 409 with Retry-After, 422. */
enum http_progress idempotency_answer_bad_key(struct request *r);
enum http_progress idempotency_answer_refused(struct request *r, enum idempotency_state state);

#endif
