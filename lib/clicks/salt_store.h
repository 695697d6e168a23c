/*
 * One thread at a time per connection. The salts of the visitor hashes: the table visitor_salts. Days are days since
 * 1970-01-01 (UTC).
 */
#ifndef WAYMARK_LIB_CLICKS_SALT_STORE_H
#define WAYMARK_LIB_CLICKS_SALT_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/clicks/visitor.h"
#include "lib/net/pg_conn.h"

struct salt {
	int32_t day;
	uint8_t bytes[VISITOR_SALT_SIZE];
};

/* The salts of days first..last that exist; salts has room for last - first + 1. */
enum err salt_store_read(struct pg_conn *conn, int32_t first, int32_t last, struct salt *salts,
                         size_t *count) MUST_CHECK;

/* Makes the salts of days first..last that do not exist yet (the first to insert wins). */
enum err salt_store_make(struct pg_conn *conn, int32_t first, int32_t last, int64_t *made) MUST_CHECK;

/* Deletes the salts of days before that day. */
enum err salt_store_forget(struct pg_conn *conn, int32_t before_day, int64_t *deleted) MUST_CHECK;

#endif
