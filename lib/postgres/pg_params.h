/*
 * One thread at a time. The parameters $1, $2, … of a statement, in the order of the calls.
 * Initialise with { 0 }. Texts and bytes are borrowed until the statement has run. The struct
 * points into itself, so do not copy it.
 */
#ifndef WAYMARK_LIB_POSTGRES_PG_PARAMS_H
#define WAYMARK_LIB_POSTGRES_PG_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PG_PARAMS_MAX 48

struct pg_params {
	/* PG_PARAMS_MAX + 1: too many were added, and the statement fails with ERR_INTERNAL. */
	int count;
	const char *values[PG_PARAMS_MAX];
	int lengths[PG_PARAMS_MAX];
	int formats[PG_PARAMS_MAX];
	/* Oids; 0: PostgreSQL finds it in the statement. */
	unsigned types[PG_PARAMS_MAX];
	char numbers[PG_PARAMS_MAX][40];
};

void pg_params_text(struct pg_params *p, const char *text); /* NULL: SQL NULL */
void pg_params_int(struct pg_params *p, int64_t value);
void pg_params_bool(struct pg_params *p, bool value);
void pg_params_bytes(struct pg_params *p, const void *bytes,
                     size_t len); /* bytea; NULL: SQL NULL */
/* Of another type in its binary format, which the statement names: $1::bigint[]. */
void pg_params_binary(struct pg_params *p, const void *bytes, size_t len);
/* A timestamptz: microseconds since 1970-01-01T00:00:00Z, exact. */
void pg_params_time(struct pg_params *p, int64_t time_us);
/* The same; 0: SQL NULL. */
void pg_params_time_or_null(struct pg_params *p, int64_t time_us);
/* A date: days since 1970-01-01. */
void pg_params_day(struct pg_params *p, int32_t day);
void pg_params_null(struct pg_params *p);

#endif
