#include "services/links-api/lists/link_list_params.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/digest.h"
#include "lib/base/mem.h"
#include "lib/base/number.h"
#include "lib/http/http_query.h"
#include "lib/links/link_store.h"
#include "services/links-api/http/member.h"
#include "services/links-api/http/query_params.h"
#include "services/links-api/lists/link_days.h"

#define CHECKSUM_BYTES 8
#define POSITION_DIGITS 32

#define DIGITS_MAX 19
/* 18 digits, the maximum in docs/api/openapi.yaml. */
#define WORKSPACE_MAX INT64_C(999999999999999999)
/* The end of the year 9999. */
#define TIME_MAX_US INT64_C(253402300799999999)

struct reading {
	struct link_list_params *out;
	struct http_problem_fields *wrong;
	struct query_pair pair;
	const char *value;
	char cursor[LINK_LIST_PARAMS_CURSOR_SIZE];
	char filter[NQL_BYTES_MAX + 1];
	bool has_page, has_cursor;
};

#define WRONG(reading, ...)                                                                        \
	http_problem_add_field((reading)->wrong, (reading)->pair.pointer, __VA_ARGS__)

/* --- one parameter each --- */

static void read_number(struct reading *reading, int64_t max, int64_t *out)
{
	if (strlen(reading->value) > DIGITS_MAX || number_parse(reading->value, 1, max, out) != OK)
		WRONG(reading, "number", "must be a number from 1 to %" PRId64, max);
}

static void read_page(struct reading *reading)
{
	reading->has_page = true;
	read_number(reading, LINK_LIST_PARAMS_PAGE_MAX, &reading->out->page);
}

static void read_limit(struct reading *reading)
{
	read_number(reading, LINK_LIST_PARAMS_LIMIT_MAX, &reading->out->limit);
}

static void read_days(struct reading *reading)
{
	read_number(reading, LINK_DAYS_MAX, &reading->out->days);
}

/* Only copies: the check needs all other parameters. */
static void read_cursor(struct reading *reading)
{
	reading->has_cursor = true;
	snprintf(reading->cursor, sizeof(reading->cursor), "%s",
	         strlen(reading->value) < LINK_LIST_PARAMS_CURSOR_SIZE ? reading->value : "");
}

static const char *const sorts[] = {
	[LINK_LIST_PARAMS_CREATED_AT] = "created_at",
	[LINK_LIST_PARAMS_HUMANS] = "humans",
	[LINK_LIST_PARAMS_LAST_VISITED_AT] = "last_visited_at",
};
#define SORT_COUNT ARRAY_SIZE(sorts)

static void read_sort(struct reading *reading)
{
	for (size_t i = 0; i < SORT_COUNT; i++) {
		if (strcmp(reading->value, sorts[i]) == 0) {
			reading->out->sort = (enum link_list_params_sort)i;
			return;
		}
	}
	WRONG(reading, "choice", "must be created_at, humans or last_visited_at");
}

static void read_order(struct reading *reading)
{
	reading->out->is_ascending = strcmp(reading->value, "asc") == 0;
	if (!reading->out->is_ascending && strcmp(reading->value, "desc") != 0)
		WRONG(reading, "choice", "must be asc or desc");
}

void link_list_params_set_q(struct link_list_params *params, const char *text, size_t len)
{
	memmove(params->q, text, len);
	params->q[len] = '\0';
	char *to = params->words;
	const char *rest = params->q + strspn(params->q, " ");
	for (int words = 1; *rest; words++) {
		size_t word =
			words < LINK_LIST_PARAMS_WORDS_MAX ? strcspn(rest, " ") : strlen(rest);
		to = mempcpy(to, rest, word);
		*to++ = '\0';
		rest += word;
		rest += strspn(rest, " ");
	}
	*to = '\0';
}

static void read_q(struct reading *reading)
{
	if (!member_is_line(reading->value, 1, LINK_LIST_PARAMS_Q_CHARS_MAX, reading->pair.pointer,
	                    reading->wrong))
		return;
	link_list_params_set_q(reading->out, reading->value, strlen(reading->value));
}

static void read_tag(struct reading *reading)
{
	if (member_is_line(reading->value, 1, LINK_TAG_CHARS_MAX, reading->pair.pointer,
	                   reading->wrong))
		snprintf(reading->out->tag, sizeof(reading->out->tag), "%s", reading->value);
}

static void read_state(struct reading *reading)
{
	reading->out->is_used_up = strcmp(reading->value, "used_up") == 0;
	if (reading->out->is_used_up)
		reading->out->state = LINK_STATE_ACTIVE;
	else if (link_state_parse(reading->value, &reading->out->state) != OK)
		WRONG(reading, "choice",
		      "must be active, used_up, disabled, expired, scheduled or deleted");
}

static void read_filter(struct reading *reading)
{
	char reason[NQL_REASON_SIZE];
	snprintf(reading->filter, sizeof(reading->filter), "%s", reading->value);
	if (nql_parse(reading->value, &reading->out->filter, reason) != OK)
		WRONG(reading, "filter", "%s", reason);
}

static void read_workspace(struct reading *reading)
{
	reading->out->has_workspace = true;
	if (strcmp(reading->value, "all") == 0)
		reading->out->workspace_id = LINK_STORE_ANY_WORKSPACE;
	else if (number_parse(reading->value, 1, WORKSPACE_MAX, &reading->out->workspace_id) != OK)
		WRONG(reading, "id", "must be the id of a workspace, or all");
}

static_assert(QUERY_PARAMS_VALUE_SIZE > NQL_BYTES_MAX, "a filter fits");

#define LIST (1u << LINK_LIST_PARAMS_LIST)
#define CHANGE (1u << LINK_LIST_PARAMS_CHANGE)

static const struct parameter {
	const char *name;
	unsigned kinds;
	void (*read)(struct reading *reading);
} parameters[] = {
	{ "page", LIST, read_page },
	{ "limit", LIST, read_limit },
	{ "days", LIST, read_days },
	{ "cursor", LIST, read_cursor },
	{ "sort", LIST, read_sort },
	{ "order", LIST, read_order },
	{ "q", LIST, read_q },
	{ "tag", LIST, read_tag },
	{ "state", LIST, read_state },
	{ "filter", LIST | CHANGE, read_filter },
	{ "workspace", LIST | CHANGE, read_workspace },
};
#define PARAMETER_COUNT ARRAY_SIZE(parameters)

/* --- all of them --- */

/* Rejects unknown parameters: the caller could rely on one of them as a filter. */
static void read_pair(struct reading *reading, unsigned kind, bool seen[static PARAMETER_COUNT])
{
	const struct query_pair *pair = &reading->pair;
	for (size_t i = 0; i < PARAMETER_COUNT; i++) {
		if (strcmp(pair->name, parameters[i].name) != 0 || !(parameters[i].kinds & kind))
			continue;
		if (query_params_accept(pair, &seen[i], reading->wrong))
			parameters[i].read(reading);
		reading->out->has_filter |= parameters[i].read == read_filter;
		return;
	}
	query_params_refuse_unknown(pair, reading->wrong);
}

static void format_query_key(struct link_list_params *out, const char *filter)
{
	/* No value contains U+001F: member_is_line and NQL reject it. */
	snprintf(out->query_key, sizeof(out->query_key),
	         "%s\x1f%d\x1f%" PRId64 "\x1f%d%s\x1f%s\x1f%s\x1f%s", sorts[out->sort],
	         out->is_ascending, out->workspace_id, (int)out->state, out->is_used_up ? "u" : "",
	         out->tag, out->q, filter);
}

/* A client can forge a cursor with a valid checksum; PostgreSQL must accept its values. */
static bool is_in_range(const struct link_list_params *params,
                        const struct link_list_params_cursor *cursor)
{
	bool is_never =
		params->sort == LINK_LIST_PARAMS_LAST_VISITED_AT && cursor->key == INT64_MIN;
	bool is_count = params->sort == LINK_LIST_PARAMS_HUMANS;
	return cursor->id > 0 &&
	       (is_never || (cursor->key >= 0 && (is_count || cursor->key <= TIME_MAX_US)));
}

static void apply_cursor(struct reading *reading)
{
	struct link_list_params *out = reading->out;
	member_pointer("cursor", reading->pair.pointer);
	if (reading->has_page)
		WRONG(reading, "exclusive", "use page or cursor, not both");
	else if (link_list_params_parse_cursor(reading->cursor, out->query_key, &out->after) !=
	                 OK ||
	         !is_in_range(out, &out->after))
		WRONG(reading, "cursor",
		      "invalid cursor; reuse next_cursor with unchanged parameters");
	out->page = 0;
}

enum err link_list_params_read(const char *query, enum link_list_params_kind kind,
                               int64_t caller_id, struct link_list_params *out,
                               struct http_problem_fields *wrong)
{
	bool seen[PARAMETER_COUNT] = { false };
	struct reading *reading = mem_zero(sizeof(*reading));
	reading->out = out;
	reading->wrong = wrong;
	reading->value = reading->pair.value;
	*out = (struct link_list_params){ .page = 1,
		                          .limit = LINK_LIST_PARAMS_LIMIT_DEFAULT,
		                          .workspace_id = caller_id };
	while (query_params_next(&query, &reading->pair))
		read_pair(reading, 1u << kind, seen);
	format_query_key(out, reading->filter);
	if (reading->has_cursor)
		apply_cursor(reading);
	if (kind == LINK_LIST_PARAMS_CHANGE && !out->has_filter)
		http_problem_add_field(wrong, "/filter", "required", "is required");
	free(reading);
	return wrong->count > 0 ? ERR_INVALID : OK;
}

bool link_list_params_has_search(const char *query)
{
	char value[2];
	return http_query_value(query, "q", value, sizeof(value)) != ERR_NOT_FOUND ||
	       http_query_value(query, "filter", value, sizeof(value)) != ERR_NOT_FOUND;
}

/* --- cursors --- */

/* Two numbers of 16 hex digits each, then a checksum over these digits and query_key. */
void link_list_params_format_cursor(const struct link_list_params_cursor *cursor,
                                    const char *query_key,
                                    char out[static LINK_LIST_PARAMS_CURSOR_SIZE])
{
	uint8_t digest[DIGEST_SIZE];
	size_t len = strlen(query_key);
	char *checked = mem_zero(POSITION_DIGITS + len + 1);
	snprintf(checked, POSITION_DIGITS + 1, "%016" PRIx64 "%016" PRIx64, (uint64_t)cursor->key,
	         (uint64_t)cursor->id);
	memcpy(out, checked, POSITION_DIGITS);
	memcpy(checked + POSITION_DIGITS, query_key, len + 1);
	digest_sha256(checked, POSITION_DIGITS + len, digest);
	digest_hex(digest, CHECKSUM_BYTES, out + POSITION_DIGITS);
	free(checked);
}

static int64_t read_digits(const char *text)
{
	uint64_t number = 0;
	for (size_t i = 0; i < POSITION_DIGITS / 2; i++)
		number = number << 4 |
		         (uint64_t)(text[i] <= '9' ? text[i] - '0' : text[i] - 'a' + 10);
	return (int64_t)number;
}

enum err link_list_params_parse_cursor(const char *text, const char *query_key,
                                       struct link_list_params_cursor *out)
{
	char same[LINK_LIST_PARAMS_CURSOR_SIZE];
	if (strlen(text) != LINK_LIST_PARAMS_CURSOR_SIZE - 1 ||
	    strspn(text, "0123456789abcdef") != LINK_LIST_PARAMS_CURSOR_SIZE - 1)
		return ERR_INVALID;
	struct link_list_params_cursor cursor = { .key = read_digits(text),
		                                  .id = read_digits(text + POSITION_DIGITS / 2) };
	link_list_params_format_cursor(&cursor, query_key, same);
	if (strcmp(same, text) != 0)
		return ERR_INVALID;
	*out = cursor;
	return OK;
}
