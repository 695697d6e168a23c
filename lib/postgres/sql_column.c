#include "lib/postgres/sql_column.h"

#include <arpa/inet.h>
#include <endian.h>
#include <string.h>

#include "lib/base/clock.h"

/* PostgreSQL counts from 2000-01-01. */
#define EPOCH_DAYS 10957

/* array_recv: dimensions, flags (1: NULL), type, then length and lower bound of the dimension. */
enum { HEADER_WORDS = 5, HEADER_FLAGS_WORD = 1, HEADER_LENGTH_WORD = 3 };
/* The length of NULL. */
#define NULL_LENGTH UINT32_MAX

static void write_header(struct sql_column *column)
{
	const uint32_t header[HEADER_WORDS] = { htonl(1), htonl(0), htonl((uint32_t)column->type),
		                                htonl(0), htonl(1) };
	strbuf_add(&column->bytes, header, sizeof(header));
}

void sql_column_init(struct sql_column *column, enum sql_column_type type, size_t bytes_max)
{
	column->type = type;
	column->count = 0;
	column->has_null = false;
	strbuf_init(&column->bytes, bytes_max);
	write_header(column);
}

void sql_column_init_for(struct sql_column *column, enum sql_column_type type, size_t count,
                         size_t value_bytes_max)
{
	const size_t header_bytes = HEADER_WORDS * sizeof(uint32_t);
	sql_column_init(column, type, header_bytes + count * (sizeof(uint32_t) + value_bytes_max));
}

void sql_column_clear(struct sql_column *column)
{
	strbuf_clear(&column->bytes);
}

void sql_column_reset(struct sql_column *column)
{
	strbuf_reset(&column->bytes);
	column->count = 0;
	column->has_null = false;
	write_header(column);
}

static void add(struct sql_column *column, const void *bytes, size_t len)
{
	uint32_t length = htonl((uint32_t)len);
	strbuf_add(&column->bytes, &length, sizeof(length));
	strbuf_add(&column->bytes, bytes, len);
	column->count++;
}

void sql_column_add_int(struct sql_column *column, int64_t value)
{
	uint64_t wide = htobe64((uint64_t)value);
	size_t len = column->type == SQL_COLUMN_INT8 ? 8 : column->type == SQL_COLUMN_INT4 ? 4 : 2;
	add(column, (const char *)&wide + sizeof(wide) - len, len);
}

void sql_column_add_text(struct sql_column *column, const char *text)
{
	sql_column_add_bytes(column, text, text ? strlen(text) : 0);
}

void sql_column_add_bytes(struct sql_column *column, const void *bytes, size_t len)
{
	if (bytes) {
		add(column, bytes, len);
		return;
	}
	uint32_t length = htonl(NULL_LENGTH);
	strbuf_add(&column->bytes, &length, sizeof(length));
	column->count++;
	column->has_null = true;
}

void sql_column_add_day(struct sql_column *column, int32_t day)
{
	uint32_t days = htonl((uint32_t)(day - EPOCH_DAYS));
	add(column, &days, sizeof(days));
}

void sql_column_add_time(struct sql_column *column, int64_t time_us)
{
	uint64_t us = htobe64((uint64_t)(time_us - EPOCH_DAYS * CLOCK_US_PER_DAY));
	add(column, &us, sizeof(us));
}

void sql_column_add_double(struct sql_column *column, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	bits = htobe64(bits);
	add(column, &bits, sizeof(bits));
}

enum err sql_column_param(struct sql_column *column, struct pg_params *params)
{
	uint32_t length = htonl(column->count);
	uint32_t flags = htonl(column->has_null);
	enum err err = strbuf_status(&column->bytes);
	if (err != OK)
		return err;
	memcpy(column->bytes.data + HEADER_FLAGS_WORD * sizeof(flags), &flags, sizeof(flags));
	memcpy(column->bytes.data + HEADER_LENGTH_WORD * sizeof(length), &length, sizeof(length));
	pg_params_binary(params, column->bytes.data, column->bytes.len);
	return OK;
}
