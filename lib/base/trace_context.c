#include "lib/base/trace_context.h"

#include <stddef.h>
#include <string.h>

/* "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" */
enum { VERSION_AT = 0, ID_AT = 3, PARENT_AT = 36, FLAGS_AT = 53, LEN = 55 };

static bool is_digit(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* Digits from one place to the dash at another; they may not all be zero where some_set. */
static bool is_number(const char *text, size_t from, size_t to, bool some_set)
{
	bool any = false;
	for (size_t i = from; i < to; i++) {
		if (!is_digit(text[i]))
			return false;
		any = any || text[i] != '0';
	}
	return any || !some_set;
}

static bool has_dashes(const char *text)
{
	return text[ID_AT - 1] == '-' && text[PARENT_AT - 1] == '-' && text[FLAGS_AT - 1] == '-';
}

/* Version 00 ends with the flags; later ones may go on behind a dash; ff is none. */
static bool ends_well(const char *text)
{
	if (memcmp(text, "ff", 2) == 0)
		return false;
	return text[LEN] == '\0' || (text[LEN] == '-' && memcmp(text, "00", 2) != 0);
}

bool trace_context_read(const char *given, char out[static TRACE_CONTEXT_SIZE])
{
	out[0] = '\0';
	if (!given || strnlen(given, LEN) < LEN || !has_dashes(given) || !ends_well(given))
		return false;
	if (!is_number(given, VERSION_AT, ID_AT - 1, false) || !is_number(given, ID_AT, PARENT_AT - 1, true) ||
	    !is_number(given, PARENT_AT, FLAGS_AT - 1, true) || !is_number(given, FLAGS_AT, LEN, false))
		return false;
	memcpy(out, given, LEN);
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
