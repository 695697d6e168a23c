/*
 * One thread at a time. Rows for COPY … FROM STDIN (FORMAT binary). Nothing needs quoting, and the
 * server has less work than with arrays of columns (sql_column.h). See pg_conn_copy for the price.
 * Begin each row, then add its columns in the order of the statement.
 *
 *   sql_copy_begin_row(&copy, 2);
 *   sql_copy_add_int8(&copy, id);
 *   sql_copy_add_text(&copy, name);
 */
#ifndef WAYMARK_LIB_POSTGRES_SQL_COPY_H
#define WAYMARK_LIB_POSTGRES_SQL_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

struct sql_copy {
	unsigned char *bytes;
	size_t len;
	size_t room;
};

/* Allocates bytes_max at once, for all rows together. */
void sql_copy_init(struct sql_copy *copy, size_t bytes_max);
void sql_copy_clear(struct sql_copy *copy);
/* Empties it. */
void sql_copy_reset(struct sql_copy *copy);
/* The rows so far were sent (pg_conn_copy_put): begins the next part of the same COPY. */
void sql_copy_next_part(struct sql_copy *copy);

void sql_copy_begin_row(struct sql_copy *copy, uint16_t columns);
void sql_copy_add_int2(struct sql_copy *copy, int16_t value);
void sql_copy_add_int4(struct sql_copy *copy, int32_t value);
void sql_copy_add_int8(struct sql_copy *copy, int64_t value);
void sql_copy_add_bool(struct sql_copy *copy, bool value);
void sql_copy_add_text(struct sql_copy *copy, const char *text);
void sql_copy_add_null(struct sql_copy *copy);
/* bytea, uuid (16 bytes), and text with a length. */
void sql_copy_add_bytes(struct sql_copy *copy, const void *bytes, size_t len);
/* date: days since 1970-01-01. */
void sql_copy_add_day(struct sql_copy *copy, int32_t day);
/* timestamptz: microseconds since 1970-01-01T00:00:00Z. */
void sql_copy_add_time(struct sql_copy *copy, int64_t time_us);

/* Ends the rows; bytes and len are ready to send. ERR_LIMIT: larger than bytes_max. */
enum err sql_copy_finish(struct sql_copy *copy) MUST_CHECK;

#endif
