/*
 * The daily salts of the visitor hashes: the table visitor_salts. Days are counted since 1970-01-01
 * (UTC).
 *
 * One thread at a time per connection.
 */
#ifndef WAYMARK_LIB_CLICKS_SALT_STORE_H
#define WAYMARK_LIB_CLICKS_SALT_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/clicks/visitor.h"
#include "lib/postgres/pg_conn.h"

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
