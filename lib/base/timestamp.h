/*
 * Pure. Wall times as RFC 3339 text in UTC. Times are microseconds since 1970-01-01T00:00:00Z.
 */
#ifndef WAYMARK_LIB_BASE_TIMESTAMP_H
#define WAYMARK_LIB_BASE_TIMESTAMP_H

#include <stdint.h>

#include "lib/base/err.h"

#define TIMESTAMP_TEXT_SIZE 32

/* "2026-11-20T08:00:00.123Z", as the HTTP API shows times (cut to milliseconds). */
void timestamp_format_ms(int64_t time_us, char out[static TIMESTAMP_TEXT_SIZE]);

/* "2026-11-20T08:00:00.123456Z", exact; what PostgreSQL and CloudEvents get. */
void timestamp_format_us(int64_t time_us, char out[static TIMESTAMP_TEXT_SIZE]);

/* "2026-11-20" of days since 1970-01-01. */
void timestamp_format_day(int32_t day, char out[static TIMESTAMP_TEXT_SIZE]);

/*
 * Reads an RFC 3339 date-time with any offset and up to nine fraction digits (cut to microseconds); years 1970 to 9999.
 * ERR_INVALID for anything else, trailing bytes and a leap second included.
 */
enum err timestamp_parse(const char *text, int64_t *time_us) MUST_CHECK;

#endif
