#include "lib/base/trace_context.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" */
enum { VERSION_AT = 0, ID_AT = 3, PARENT_AT = 36, FLAGS_AT = 53, LEN = 55 };

static bool is_hex_digit(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* Whether text[from, to) has only hexadecimal digits, not all zero if must_be_nonzero. */
static bool is_hex_number(const char *text, size_t from, size_t to, bool must_be_nonzero)
{
	bool is_nonzero = false;
	for (size_t i = from; i < to; i++) {
		if (!is_hex_digit(text[i]))
			return false;
		is_nonzero = is_nonzero || text[i] != '0';
	}
	return is_nonzero || !must_be_nonzero;
}

static bool has_dashes(const char *text)
{
	return text[ID_AT - 1] == '-' && text[PARENT_AT - 1] == '-' && text[FLAGS_AT - 1] == '-';
}

/* Version 00 ends with the flags. Later ones may continue after a dash. Version ff is invalid. */
static bool has_valid_end(const char *text)
{
	if (memcmp(text, "ff", 2) == 0)
		return false;
	return text[LEN] == '\0' || (text[LEN] == '-' && memcmp(text, "00", 2) != 0);
}

bool trace_context_parse(const char *header, char out[static TRACE_CONTEXT_SIZE])
{
	out[0] = '\0';
	if (!header || strnlen(header, LEN) < LEN || !has_dashes(header) || !has_valid_end(header))
		return false;
	if (!is_hex_number(header, VERSION_AT, ID_AT - 1, false) ||
	    !is_hex_number(header, ID_AT, PARENT_AT - 1, true) ||
	    !is_hex_number(header, PARENT_AT, FLAGS_AT - 1, true) ||
	    !is_hex_number(header, FLAGS_AT, LEN, false))
		return false;
	memcpy(out, header, LEN);
	memcpy(out, "00", 2);
	out[LEN] = '\0';
	return true;
}

bool trace_context_is_sampled(const char *context)
{
	if (context[0] == '\0')
		return false;
	char last = context[LEN - 1];
	return ((last <= '9' ? last - '0' : last - 'a' + 10) & 1) != 0;
}

void trace_context_id(const char *context, char out[static TRACE_CONTEXT_ID_SIZE])
{
	out[0] = '\0';
	if (context[0] == '\0')
		return;
	memcpy(out, context + ID_AT, TRACE_CONTEXT_ID_SIZE - 1);
	out[TRACE_CONTEXT_ID_SIZE - 1] = '\0';
}

void trace_context_parent(const char *context, char out[static TRACE_CONTEXT_PARENT_SIZE])
{
	out[0] = '\0';
	if (context[0] == '\0')
		return;
	memcpy(out, context + PARENT_AT, TRACE_CONTEXT_PARENT_SIZE - 1);
	out[TRACE_CONTEXT_PARENT_SIZE - 1] = '\0';
}

void trace_context_set_parent(char context[static TRACE_CONTEXT_SIZE], uint64_t span)
{
	char digits[TRACE_CONTEXT_PARENT_SIZE];
	(void)snprintf(digits, sizeof(digits), "%016" PRIx64, span);
	memcpy(context + PARENT_AT, digits, sizeof(digits) - 1);
}

void trace_context_begin(char context[static TRACE_CONTEXT_SIZE], const uint64_t id[static 2],
                         uint64_t span)
{
	(void)snprintf(context, TRACE_CONTEXT_SIZE,
	               "00-%016" PRIx64 "%016" PRIx64 "-%016" PRIx64 "-01", id[0], id[1], span);
}
