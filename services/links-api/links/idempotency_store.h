/*
 * One thread at a time per connection. Answers to requests that are done once: the table idempotency_keys. Everything
 * happens in the transaction that does what the request asks for. Errors of pg_conn_query pass through.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_LINKS_IDEMPOTENCY_STORE_H
#define WAYMARK_SERVICES_LINKS_API_LINKS_IDEMPOTENCY_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/digest.h"
#include "lib/base/err.h"
#include "lib/links/slug.h"
#include "lib/net/pg_conn.h"

#define IDEMPOTENCY_STORE_KEEP_S 86400

struct idempotency_row {
	uint8_t request_hash[DIGEST_SIZE];
	void *answer; /* owned */
	size_t answer_len;
	char (*slugs)[SLUG_SIZE]; /* owned: which links it tells of */
	size_t slug_count;
};

void idempotency_store_clear(struct idempotency_row *row);

/*
 * Takes the key until the end of the transaction. ERR_LIMIT: another transaction has it. OK: *out is what was kept in
 * the last 24 hours. ERR_NOT_FOUND: nothing was.
 */
enum err idempotency_store_take(struct pg_conn *conn, const uint8_t key_hash[static DIGEST_SIZE],
                                struct idempotency_row *out) MUST_CHECK;

/* After idempotency_store_take; the row is borrowed. In the place of an older one. */
enum err idempotency_store_keep(struct pg_conn *conn, const uint8_t key_hash[static DIGEST_SIZE],
                                const struct idempotency_row *row) MUST_CHECK;

#endif
