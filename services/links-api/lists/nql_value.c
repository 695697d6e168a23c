#include "services/links-api/lists/nql_value.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/number.h"
#include "lib/base/timestamp.h"
#include "lib/links/link.h"

#define US_PER_MS 1000

static const char *read_time(const char *text, int64_t *time_us)
{
	char midnight[TIMESTAMP_TEXT_SIZE];
	enum err err = timestamp_parse(text, time_us);
	if (err != OK && strlen(text) == strlen("2026-11-20")) {
		snprintf(midnight, sizeof(midnight), "%sT00:00:00Z", text);
		err = timestamp_parse(midnight, time_us);
	}
	if (err != OK)
		return "a time like 2026-11-20T08:00:00Z or a date like 2026-11-20";
	*time_us -= *time_us % US_PER_MS; /* responses show times in ms */
	return NULL;
}

static const char *read_state(const char *text)
{
	enum link_state state;
	if (link_state_parse(text, &state) != OK)
		return "active, disabled, expired or scheduled";
	return state == LINK_STATE_DELETED
	               ? "active, disabled, expired or scheduled (use the parameter state=deleted)"
	               : NULL;
}

static const char *read_link_type(const char *text)
{
	enum link_type type;
	return link_type_parse(text, &type) == OK ? NULL : "temporary or permanent";
}

static const char *read_typed(const struct nql_node *term, const char *text, struct nql_value *out)
{
	switch (term->field->type) {
	case NQL_FIELD_NUMBER:
		return number_parse(text, INT64_MIN, INT64_MAX, &out->number) == OK
		               ? NULL
		               : "a whole number";
	case NQL_FIELD_TIME:
		return read_time(text, &out->number);
	case NQL_FIELD_STATE:
		return read_state(text);
	case NQL_FIELD_LINK_TYPE:
		return read_link_type(text);
	case NQL_FIELD_TEXT:
	case NQL_FIELD_TAGS:
		break;
	}
	return *text ? NULL : "a non-empty text";
}

const char *nql_value_read(const struct nql_node *term, const char *text, bool is_bare,
                           struct nql_value *out)
{
	bool is_null = is_bare && strcmp(text, "null") == 0;
	if (is_null && term->field->is_nullable && term->op == NQL_EQUAL) {
		out->is_null = true;
		return NULL;
	}
	/* A missing title is stored as an empty text. */
	if (term->field->type == NQL_FIELD_TEXT && term->op == NQL_EQUAL && !*text)
		return NULL;
	return read_typed(term, text, out);
}
