#include "services/links-api/http/query_params.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/number.h"
#include "lib/http/http_query.h"
#include "services/links-api/http/member.h"

#define NAME_SIZE 64

static struct query_param *find(struct query_param *params, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(params[i].name, name) == 0)
			return &params[i];
	return NULL;
}

static void read_value(struct query_param *p, const char *value, const char *pointer,
                       struct http_problem_fields *wrong)
{
	size_t len = strlen(value);
	bool is_number = !p->number || number_parse(value, 1, p->max, p->number) == OK;
	if (p->seen)
		http_problem_add_field(wrong, pointer, "duplicate", "is given twice");
	else if (!is_number && strcmp(p->name, "cursor") == 0)
		http_problem_add_field(wrong, pointer, "cursor",
		                       "invalid cursor; use next_cursor of an earlier response");
	else if (!is_number)
		http_problem_add_field(wrong, pointer, "number",
		                       "must be a number from 1 to %" PRId64, p->max);
	else if (p->text && len >= p->text_size)
		http_problem_add_field(wrong, pointer, "too-many-bytes",
		                       "must have at most %zu bytes", p->text_size - 1);
	else if (p->text)
		memcpy(p->text, value, len + 1);
	p->seen = true;
}

void query_params_refuse_value(enum err err, const char *pointer, size_t size,
                               struct http_problem_fields *wrong)
{
	if (err == ERR_LIMIT)
		http_problem_add_field(wrong, pointer, "too-many-bytes",
		                       "must have at most %zu bytes", size - 1);
	else
		http_problem_add_field(wrong, pointer, "malformed",
		                       "has a malformed escape, a NUL or invalid UTF-8");
}

enum err query_params_read(const char *query, struct query_param *params, size_t count,
                           struct http_problem_fields *wrong)
{
	char name[NAME_SIZE], value[QUERY_PARAMS_TEXT_SIZE], pointer[HTTP_PROBLEM_POINTER_SIZE];
	enum err err;
	while ((err = http_query_next(&query, name, sizeof(name), value, sizeof(value))) !=
	       ERR_NOT_FOUND) {
		struct query_param *p = find(params, count, name);
		member_pointer(name, pointer);
		if (p && err == OK)
			read_value(p, value, pointer, wrong);
		else if (p)
			query_params_refuse_value(err, pointer, sizeof(value), wrong);
		else if (name[0] || err == OK)
			http_problem_add_field(wrong, pointer, "unknown",
			                       "unknown query parameter");
		else
			http_problem_add_field(
				wrong, "", "malformed",
				"contains the name of a parameter that is too long or not valid UTF-8");
	}
	return wrong->count == 0 ? OK : ERR_INVALID;
}
