/*
 * One thread at a time per connection. Stored responses of idempotent requests: the table
 * idempotency_keys, and how much each user has stored: idempotency_uses. Call everything in the
 * transaction that executes the request. Errors of pg_conn_query pass through.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_IDEMPOTENCY_STORE_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_IDEMPOTENCY_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/digest.h"
#include "lib/base/err.h"
#include "lib/links/slug.h"
#include "lib/postgres/pg_conn.h"
#include "services/links-api/links/stored_response.h"

#define IDEMPOTENCY_STORE_TTL_S 86400
/* Stored bytes are counted in intervals; one counts until a day after its end. */
#define IDEMPOTENCY_STORE_INTERVAL_S 300
#define IDEMPOTENCY_STORE_COUNTED_S (IDEMPOTENCY_STORE_TTL_S + IDEMPOTENCY_STORE_INTERVAL_S)

struct idempotency_row {
	uint8_t request_hash[DIGEST_SIZE];
	/* Owned: the links that the response describes. */
	char (*slugs)[SLUG_SIZE];
	size_t slug_count;
};

void idempotency_store_clear(struct idempotency_row *row);

/*
 * Locks the key until the transaction ends. OK: *out and *response are what was stored in the last
 * 24 hours; clear both. ERR_NOT_FOUND: nothing is stored, but the key is locked. ERR_LIMIT: another transaction
 * holds the key.
 */
enum err idempotency_store_acquire(struct pg_conn *conn, const uint8_t key_hash[static DIGEST_SIZE],
                                   struct idempotency_row *out,
                                   struct stored_response *response) MUST_CHECK;

/*
 * Call after idempotency_store_acquire. Borrows both. Replaces an expired row of the same key.
 */
enum err idempotency_store_save(struct pg_conn *conn, const uint8_t key_hash[static DIGEST_SIZE],
                                const struct idempotency_row *row,
                                const struct stored_response *response) MUST_CHECK;

/* What was stored for the user in the last IDEMPOTENCY_STORE_COUNTED_S. oldest_us: 0 = nothing. */
enum err idempotency_store_count_use(struct pg_conn *conn, int64_t user_id, int64_t now_us,
                                     int64_t *bytes, int64_t *oldest_us) MUST_CHECK;

/* Counts stored bytes, in the transaction that stores them. */
enum err idempotency_store_add_use(struct pg_conn *conn, int64_t user_id, int64_t now_us,
                                   int64_t bytes) MUST_CHECK;

#endif
