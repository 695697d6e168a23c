/* Wall times, in µs since 1970-01-01T00:00:00Z, as RFC 3339 text in UTC. Pure. */
#ifndef WAYMARK_LIB_BASE_TIMESTAMP_H
#define WAYMARK_LIB_BASE_TIMESTAMP_H

#include <stdint.h>

#include "lib/base/err.h"

#define TIMESTAMP_TEXT_SIZE 32

/* "2026-11-20T08:00:00.123Z", truncated to milliseconds: the format of the HTTP API. */
void timestamp_format_ms(int64_t time_us, char out[static TIMESTAMP_TEXT_SIZE]);

/* "2026-11-20T08:00:00.123456Z", exact: the format for PostgreSQL and CloudEvents. */
void timestamp_format_us(int64_t time_us, char out[static TIMESTAMP_TEXT_SIZE]);

/* "2026-11-20" for a day counted since 1970-01-01. */
void timestamp_format_day(int32_t day, char out[static TIMESTAMP_TEXT_SIZE]);

/*
 * Parses an RFC 3339 date-time with any offset and up to nine fraction digits (truncated to
 * microseconds), years 1970 to 9999. ERR_INVALID for anything else, including trailing bytes and
 * leap seconds.
 */
enum err timestamp_parse(const char *text, int64_t *time_us) MUST_CHECK;

#endif
