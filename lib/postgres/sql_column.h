/*
 * One thread at a time. One column of many rows as an array parameter in PostgreSQL's binary
 * format. Nothing needs quoting, and thousands of rows travel in one message.
 *
 *   INSERT INTO t (a, b) SELECT unnest($1::bigint[]), unnest($2::text[])
 */
#ifndef WAYMARK_LIB_POSTGRES_SQL_COLUMN_H
#define WAYMARK_LIB_POSTGRES_SQL_COLUMN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/strbuf.h"
#include "lib/postgres/pg_params.h"

/* The values are the oids of the types, which never change (pg_type.dat). */
enum sql_column_type {
	SQL_COLUMN_BYTES = 17,
	SQL_COLUMN_INT8 = 20,
	SQL_COLUMN_INT2 = 21,
	SQL_COLUMN_INT4 = 23,
	SQL_COLUMN_TEXT = 25,
	SQL_COLUMN_FLOAT8 = 701,
	SQL_COLUMN_DATE = 1082,
	SQL_COLUMN_TIME = 1184,
	SQL_COLUMN_UUID = 2950,
};

struct sql_column {
	enum sql_column_type type;
	uint32_t count;
	bool has_null;
	struct strbuf bytes;
};

/* bytes_max bounds its memory, which it keeps until clear. */
void sql_column_init(struct sql_column *column, enum sql_column_type type, size_t bytes_max);
/* Room for count values of at most value_bytes_max bytes. */
void sql_column_init_for(struct sql_column *column, enum sql_column_type type, size_t count,
                         size_t value_bytes_max);
void sql_column_clear(struct sql_column *column);
/* Empties it. */
void sql_column_reset(struct sql_column *column);

/* INT2, INT4, INT8 (the value must fit). */
void sql_column_add_int(struct sql_column *column, int64_t value);
/* FLOAT8. */
void sql_column_add_double(struct sql_column *column, double value);
/* TEXT; NULL: SQL NULL. */
void sql_column_add_text(struct sql_column *column, const char *text);
/* BYTES, and UUID (16 bytes). NULL: SQL NULL. */
void sql_column_add_bytes(struct sql_column *column, const void *bytes, size_t len);
/* DATE: days since 1970-01-01. */
void sql_column_add_day(struct sql_column *column, int32_t day);
/* TIME (timestamptz): microseconds since 1970-01-01T00:00:00Z. */
void sql_column_add_time(struct sql_column *column, int64_t time_us);

/* Adds the column as a parameter; borrowed until the statement ran. ERR_LIMIT: over bytes_max. */
enum err sql_column_param(struct sql_column *column, struct pg_params *params) MUST_CHECK;

#endif
