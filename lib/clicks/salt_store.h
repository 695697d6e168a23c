/*
 * The pseudonyms of visitors, and their daily salts: the table visitor_salts. Days are counted
 * since 1970-01-01 (UTC).
 *
 * One thread at a time per connection.
 */
#ifndef WAYMARK_LIB_CLICKS_SALT_STORE_H
#define WAYMARK_LIB_CLICKS_SALT_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/client_ip.h"
#include "lib/base/digest.h"
#include "lib/base/err.h"
#include "lib/postgres/pg_conn.h"

#define VISITOR_SALT_SIZE 32

/*
 * Pure. HMAC-SHA-256(salt of the UTC day, address, user agent). The salt is deleted after its day;
 * from then on a hash cannot be traced back to a visitor. salt is a precomputed key of
 * VISITOR_SALT_SIZE bytes. user_agent may be NULL.
 */
void salt_store_visitor_hash(const struct digest_hmac_key *salt, const struct client_ip *ip,
                             const char *user_agent, uint8_t out[static DIGEST_SIZE]);

struct salt {
	int32_t day;
	uint8_t bytes[VISITOR_SALT_SIZE];
};

/* Reads the existing salts of the days first..last. salts must have room for last - first + 1. */
enum err salt_store_read(struct pg_conn *conn, int32_t first, int32_t last, struct salt *salts,
                         size_t *count) MUST_CHECK;

/*
 * Creates the missing salts of the days first..last and counts them in *created. If several callers
 * insert at once, the first one wins.
 */
enum err salt_store_create_missing(struct pg_conn *conn, int32_t first, int32_t last,
                                   int64_t *created) MUST_CHECK;

/* Deletes the salts of days before before_day. */
enum err salt_store_delete_before(struct pg_conn *conn, int32_t before_day,
                                  int64_t *deleted) MUST_CHECK;

#endif
