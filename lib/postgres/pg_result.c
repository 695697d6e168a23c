#include "lib/postgres/pg_conn.h"

#include "lib/base/digest.h"
#include "lib/base/number.h"
#include "lib/base/timestamp.h"
#include "lib/postgres/pg_libpq.h"

/* A pg_result is a PGresult under another name, so the header does not include libpq. */
static const PGresult *pg_result_libpq(const struct pg_result *rows)
{
	return (const PGresult *)rows;
}

static bool pg_result_has_cell(const PGresult *result, size_t row, int column)
{
	return result && row < (size_t)PQntuples(result) && column >= 0 &&
	       column < PQnfields(result);
}

size_t pg_result_count(const struct pg_result *rows)
{
	return rows ? (size_t)PQntuples(pg_result_libpq(rows)) : 0;
}

int64_t pg_result_changed(const struct pg_result *rows)
{
	int64_t changed = 0;
	/* PQcmdTuples only reads; its parameter lacks a const. */
	const char *text = rows ? PQcmdTuples((PGresult *)(uintptr_t)rows) : "";
	return number_parse(text, 0, INT64_MAX, &changed) == OK ? changed : 0;
}

bool pg_result_is_null(const struct pg_result *rows, size_t row, int column)
{
	const PGresult *result = pg_result_libpq(rows);
	return !pg_result_has_cell(result, row, column) || PQgetisnull(result, (int)row, column);
}

const char *pg_result_text(const struct pg_result *rows, size_t row, int column)
{
	return pg_result_is_null(rows, row, column)
	               ? ""
	               : PQgetvalue(pg_result_libpq(rows), (int)row, column);
}

int64_t pg_result_int(const struct pg_result *rows, size_t row, int column)
{
	int64_t value = 0;
	return number_parse(pg_result_text(rows, row, column), INT64_MIN, INT64_MAX, &value) == OK
	               ? value
	               : 0;
}

double pg_result_double(const struct pg_result *rows, size_t row, int column)
{
	return strtod(pg_result_text(rows, row, column), NULL);
}

bool pg_result_bool(const struct pg_result *rows, size_t row, int column)
{
	return pg_result_text(rows, row, column)[0] == 't';
}

int64_t pg_result_time(const struct pg_result *rows, size_t row, int column)
{
	const char *text = pg_result_text(rows, row, column);
	if (strcmp(text, "infinity") == 0)
		return INT64_MAX;
	if (strcmp(text, "-infinity") == 0)
		return INT64_MIN;
	/* "2026-11-20 08:00:00.123456+00" is RFC 3339 but for "T" and the minutes of the offset. */
	char rfc3339[48];
	int len = snprintf(rfc3339, sizeof(rfc3339), "%s:00", text);
	if (len < 22 || (size_t)len >= sizeof(rfc3339))
		return 0;
	rfc3339[10] = 'T';
	int64_t time_us = 0;
	return timestamp_parse(rfc3339, &time_us) == OK ? time_us : 0;
}

size_t pg_result_bytes(const struct pg_result *rows, size_t row, int column, void *out, size_t size)
{
	const char *text = pg_result_text(rows, row, column);
	if (text[0] != '\\' || text[1] != 'x')
		return 0;
	size_t len = strlen(text + 2) / 2;
	digest_unhex(text + 2, out, len < size ? len : size);
	return len;
}

void pg_result_free(struct pg_result *rows)
{
	PQclear((PGresult *)rows);
}
