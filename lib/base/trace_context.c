#include "lib/base/trace_context.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" */
enum { VERSION_AT = 0, ID_AT = 3, PARENT_AT = 36, FLAGS_AT = 53, LEN = 55 };

/* Whether text[from, to) has only hexadecimal digits, not all zero if must_be_nonzero. */
static bool is_hex_number(const char *text, size_t from, size_t to, bool must_be_nonzero)
{
	return strspn(text + from, "0123456789abcdef") >= to - from &&
	       (!must_be_nonzero || strspn(text + from, "0") < to - from);
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

static void copy_part(const char *context, size_t at, char *out, size_t size)
{
	snprintf(out, size, "%s", context[0] ? context + at : "");
}

void trace_context_id(const char *context, char out[static TRACE_CONTEXT_ID_SIZE])
{
	copy_part(context, ID_AT, out, TRACE_CONTEXT_ID_SIZE);
}

void trace_context_parent(const char *context, char out[static TRACE_CONTEXT_PARENT_SIZE])
{
	copy_part(context, PARENT_AT, out, TRACE_CONTEXT_PARENT_SIZE);
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
