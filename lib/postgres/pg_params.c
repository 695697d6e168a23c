#include "lib/postgres/pg_params.h"

#include <limits.h>

#include "lib/base/timestamp.h"

#define BYTEA_OID 17

static const int text_format = 0;
static const int binary_format = 1;

/* The index of the next parameter; -1: there are too many. */
static int pg_params_next(struct pg_params *p)
{
	if (p->count >= PG_PARAMS_MAX) {
		p->count = PG_PARAMS_MAX + 1;
		return -1;
	}
	return p->count++;
}

static void pg_params_add(struct pg_params *p, const char *value, int length, int format)
{
	int i = pg_params_next(p);
	if (i < 0)
		return;
	p->values[i] = value;
	p->lengths[i] = length;
	p->formats[i] = format;
	p->types[i] = 0;
}

/* The buffer for the text of the next parameter. */
static char *pg_params_buffer(struct pg_params *p)
{
	return p->numbers[p->count < PG_PARAMS_MAX ? p->count : PG_PARAMS_MAX - 1];
}

void pg_params_text(struct pg_params *p, const char *text)
{
	pg_params_add(p, text, 0, text_format);
}

void pg_params_int(struct pg_params *p, int64_t value)
{
	char *number = pg_params_buffer(p);
	snprintf(number, sizeof(p->numbers[0]), "%lld", (long long)value);
	pg_params_add(p, number, 0, text_format);
}

void pg_params_bool(struct pg_params *p, bool value)
{
	pg_params_add(p, value ? "t" : "f", 0, text_format);
}

void pg_params_binary(struct pg_params *p, const void *bytes, size_t len)
{
	if (len > INT_MAX) {
		p->count = PG_PARAMS_MAX + 1;
		return;
	}
	pg_params_add(p, bytes, (int)len, binary_format);
}

void pg_params_bytes(struct pg_params *p, const void *bytes, size_t len)
{
	pg_params_binary(p, bytes, len);
	if (p->count <= PG_PARAMS_MAX)
		p->types[p->count - 1] = BYTEA_OID;
}

void pg_params_time(struct pg_params *p, int64_t time_us)
{
	char *text = pg_params_buffer(p);
	timestamp_format_us(time_us, text);
	pg_params_add(p, text, 0, text_format);
}

void pg_params_time_or_null(struct pg_params *p, int64_t time_us)
{
	if (time_us == 0)
		pg_params_null(p);
	else
		pg_params_time(p, time_us);
}

void pg_params_day(struct pg_params *p, int32_t day)
{
	char *text = pg_params_buffer(p);
	timestamp_format_day(day, text);
	pg_params_add(p, text, 0, text_format);
}

void pg_params_null(struct pg_params *p)
{
	pg_params_add(p, NULL, 0, text_format);
}
