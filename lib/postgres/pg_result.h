/*
 * One thread at a time. The result of a statement. Rows and columns count from 0. SQL NULL reads as
 * 0, false or "", and so does a row or column that does not exist. Everything is borrowed until
 * pg_result_free. A NULL result has no rows and may be freed.
 */
#ifndef WAYMARK_LIB_POSTGRES_PG_RESULT_H
#define WAYMARK_LIB_POSTGRES_PG_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pg_result;

size_t pg_result_count(const struct pg_result *rows);
/* Rows changed by an INSERT, UPDATE or DELETE. */
int64_t pg_result_changed(const struct pg_result *rows);
bool pg_result_is_null(const struct pg_result *rows, size_t row, int column);
const char *pg_result_text(const struct pg_result *rows, size_t row, int column);
int64_t pg_result_int(const struct pg_result *rows, size_t row, int column);
double pg_result_double(const struct pg_result *rows, size_t row, int column);
bool pg_result_bool(const struct pg_result *rows, size_t row, int column);
/* A timestamptz in µs since 1970-01-01T00:00:00Z; ±"infinity" is INT64_MAX or INT64_MIN. */
int64_t pg_result_time(const struct pg_result *rows, size_t row, int column);
/* A bytea. Copies at most size bytes; returns its full length. */
size_t pg_result_bytes(const struct pg_result *rows, size_t row, int column, void *out,
                       size_t size);
void pg_result_free(struct pg_result *rows);

#endif
