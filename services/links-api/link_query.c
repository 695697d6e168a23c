#include "services/links-api/link_query.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/number.h"
#include "lib/base/utf8.h"
#include "lib/net/http_query.h"
#include "services/links-api/member.h"

#define NAME_SIZE 64
#define VALUE_SIZE 24

static const char *const names[] = { "page", "limit" };
#define NAME_COUNT (sizeof(names) / sizeof(names[0]))

static bool mark_seen(const char *name, bool seen[static NAME_COUNT], bool *twice)
{
	for (size_t i = 0; i < NAME_COUNT; i++) {
		if (strcmp(name, names[i]) != 0)
			continue;
		*twice = seen[i];
		seen[i] = true;
		return true;
	}
	return false;
}

/* A parameter that we would pass over could be a filter that the caller relies on. */
static void check_names(const char *query, struct http_problem_fields *wrong)
{
	bool seen[NAME_COUNT] = { false };
	while (*query) {
		size_t pair = strcspn(query, "&");
		size_t name_len = strcspn(query, "=&");
		char name[NAME_SIZE];
		char pointer[HTTP_PROBLEM_POINTER_SIZE];
		bool twice = false;
		utf8_copy_clean(query, name_len, name, sizeof(name));
		member_pointer(name, pointer);
		if (pair > 0 && !mark_seen(name, seen, &twice))
			http_problem_add_field(wrong, pointer, "is no query parameter here");
		else if (twice)
			http_problem_add_field(wrong, pointer, "is there twice");
		query += pair + (query[pair] == '&');
	}
}

static void read_number(const char *query, const char *name, int64_t max, int64_t *out,
                        struct http_problem_fields *wrong)
{
	char value[VALUE_SIZE];
	char pointer[HTTP_PROBLEM_POINTER_SIZE];
	enum err err = http_query_value(query, name, value, sizeof(value));
	if (err == ERR_NOT_FOUND)
		return;
	if (err == OK)
		err = number_parse(value, 1, max, out);
	if (err == OK)
		return;
	member_pointer(name, pointer);
	http_problem_add_field(wrong, pointer, "must be a number from 1 to %" PRId64, max);
}

enum err link_query_read(const char *query, struct link_query *out, struct http_problem_fields *wrong)
{
	struct link_query read = { .page = 1, .limit = LINK_QUERY_LIMIT_DEFAULT };
	check_names(query, wrong);
	read_number(query, "page", LINK_QUERY_PAGE_MAX, &read.page, wrong);
	read_number(query, "limit", LINK_QUERY_LIMIT_MAX, &read.limit, wrong);
	if (wrong->count > 0)
		return ERR_INVALID;
	*out = read;
	return OK;
}
