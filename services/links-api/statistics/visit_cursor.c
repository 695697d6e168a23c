#include "services/links-api/statistics/visit_cursor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/number.h"

/* The end of the year 9999. */
#define TIME_MAX_US INT64_C(253402300799999999)

void visit_cursor_format(const struct visit_page_cursor *place, char out[static VISIT_CURSOR_SIZE])
{
	snprintf(out, VISIT_CURSOR_SIZE, "%" PRId64 "_%s", place->occurred_at_us, place->event_id);
}

static bool is_uuid(const char *text)
{
	static const char pattern[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
	if (strlen(text) != sizeof(pattern) - 1)
		return false;
	for (size_t i = 0; i < sizeof(pattern) - 1; i++) {
		bool matches = pattern[i] == '-' ? text[i] == '-'
		                                 : strchr("0123456789abcdef", text[i]) != NULL;
		if (!matches)
			return false;
	}
	return true;
}

enum err visit_cursor_parse(const char *text, struct visit_page_cursor *out)
{
	char time[VISIT_CURSOR_SIZE];
	struct visit_page_cursor place = { 0 };
	const char *id = strchr(text, '_');
	size_t time_len = id ? (size_t)(id - text) : 0;
	if (time_len == 0 || time_len >= sizeof(time) || !is_uuid(id + 1))
		return ERR_INVALID;
	memcpy(time, text, time_len);
	time[time_len] = '\0';
	if (number_parse(time, 0, TIME_MAX_US, &place.occurred_at_us) != OK)
		return ERR_INVALID;
	memcpy(place.event_id, id + 1, VISIT_PAGE_ID_SIZE);
	*out = place;
	return OK;
}
