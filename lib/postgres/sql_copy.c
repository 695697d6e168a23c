#include "lib/postgres/sql_copy.h"

#include <arpa/inet.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"

/* PostgreSQL counts from 2000-01-01. */
#define EPOCH_DAYS 10957

/* The signature, which ends with a NUL; no flags, no extension. */
#define HEADER_LEN 19
static const unsigned char header[HEADER_LEN] = "PGCOPY\n\377\r\n";
#define TRAILER_LEN 2

void sql_copy_init(struct sql_copy *copy, size_t bytes_max)
{
	copy->room = HEADER_LEN + bytes_max + TRAILER_LEN;
	copy->bytes = mem_array(copy->room, 1);
	sql_copy_reset(copy);
}

void sql_copy_clear(struct sql_copy *copy)
{
	free(copy->bytes);
	*copy = (struct sql_copy){ 0 };
}

void sql_copy_reset(struct sql_copy *copy)
{
	memcpy(copy->bytes, header, HEADER_LEN);
	copy->len = HEADER_LEN;
}

void sql_copy_next_part(struct sql_copy *copy)
{
	copy->len = 0;
}

/* Bytes that do not fit still count, so sql_copy_finish sees the overflow. */
static void put(struct sql_copy *copy, const void *bytes, size_t len)
{
	if (copy->len <= copy->room && len <= copy->room - copy->len)
		memcpy(copy->bytes + copy->len, bytes, len);
	copy->len += len;
}

/* The length and the bytes at once, because a row has many short columns. */
static inline void add(struct sql_copy *copy, const void *bytes, uint32_t len)
{
	uint32_t length = htonl(len);
	size_t needed = sizeof(length) + len;
	if (copy->len <= copy->room && needed <= copy->room - copy->len) {
		unsigned char *at = copy->bytes + copy->len;
		memcpy(at, &length, sizeof(length));
		if (len > 0)
			memcpy(at + sizeof(length), bytes, len);
	}
	copy->len += needed;
}

void sql_copy_begin_row(struct sql_copy *copy, uint16_t columns)
{
	uint16_t count = htons(columns);
	put(copy, &count, sizeof(count));
}

void sql_copy_add_int2(struct sql_copy *copy, int16_t value)
{
	uint16_t bytes = htons((uint16_t)value);
	add(copy, &bytes, sizeof(bytes));
}

void sql_copy_add_int4(struct sql_copy *copy, int32_t value)
{
	uint32_t bytes = htonl((uint32_t)value);
	add(copy, &bytes, sizeof(bytes));
}

void sql_copy_add_int8(struct sql_copy *copy, int64_t value)
{
	uint64_t bytes = htobe64((uint64_t)value);
	add(copy, &bytes, sizeof(bytes));
}

void sql_copy_add_bool(struct sql_copy *copy, bool value)
{
	add(copy, value ? "\1" : "\0", 1);
}

void sql_copy_add_text(struct sql_copy *copy, const char *text)
{
	add(copy, text, text[0] == '\0' ? 0 : (uint32_t)strlen(text));
}

void sql_copy_add_bytes(struct sql_copy *copy, const void *bytes, size_t len)
{
	add(copy, bytes, (uint32_t)len);
}

void sql_copy_add_null(struct sql_copy *copy)
{
	uint32_t length = htonl(UINT32_MAX);
	put(copy, &length, sizeof(length));
}

void sql_copy_add_day(struct sql_copy *copy, int32_t day)
{
	sql_copy_add_int4(copy, day - EPOCH_DAYS);
}

void sql_copy_add_time(struct sql_copy *copy, int64_t time_us)
{
	sql_copy_add_int8(copy, time_us - EPOCH_DAYS * CLOCK_US_PER_DAY);
}

enum err sql_copy_finish(struct sql_copy *copy)
{
	static const unsigned char trailer[TRAILER_LEN] = { 0xff, 0xff };
	put(copy, trailer, sizeof(trailer));
	return copy->len <= copy->room ? OK : ERR_LIMIT;
}
