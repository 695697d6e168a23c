#include "services/links-api/accounts/admin_params.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/number.h"
#include "lib/base/utf8.h"
#include "lib/http/http_query.h"
#include "services/links-api/member.h"

#define NAME_SIZE 64

/* The destination of one parameter: a number from 1 to max, or a text. */
struct parameter {
	const char *name;
	int64_t *number;
	int64_t max;
	char *text;
	size_t text_size;
	bool seen;
};

static struct parameter *find(struct parameter *parameters, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(parameters[i].name, name) == 0)
			return &parameters[i];
	return NULL;
}

static void read_value(struct parameter *p, const char *value, const char *pointer,
                       struct http_problem_fields *wrong)
{
	size_t len = strlen(value);
	if (p->seen)
		http_problem_add_field(wrong, pointer, "duplicate");
	else if (p->number && number_parse(value, 1, p->max, p->number) != OK)
		http_problem_add_field(wrong, pointer, "must be a number from 1 to %" PRId64,
		                       p->max);
	else if (p->text && len >= p->text_size)
		http_problem_add_field(wrong, pointer, "must have at most %zu bytes",
		                       p->text_size - 1);
	else if (p->text)
		memcpy(p->text, value, len + 1);
	p->seen = true;
}

static enum err read_all(const char *query, struct parameter *parameters, size_t count,
                         struct http_problem_fields *wrong)
{
	char name[NAME_SIZE], value[ADMIN_PARAMS_TEXT_SIZE], pointer[HTTP_PROBLEM_POINTER_SIZE];
	enum err err;
	while ((err = http_query_next(&query, name, sizeof(name), value, sizeof(value))) !=
	       ERR_NOT_FOUND) {
		struct parameter *p = err == OK ? find(parameters, count, name) : NULL;
		if (err == OK)
			member_pointer(name, pointer);
		if (p)
			read_value(p, value, pointer, wrong);
		else if (err == OK)
			http_problem_add_field(wrong, pointer, "unknown query parameter");
		else
			http_problem_add_field(
				wrong, "",
				"contains a parameter that is too long or not valid UTF-8");
	}
	return wrong->count == 0 ? OK : ERR_INVALID;
}

enum err admin_params_parse_users(const char *query, struct admin_params_users *out,
                                  struct http_problem_fields *wrong)
{
	*out = (struct admin_params_users){ .limit = ADMIN_PARAMS_LIMIT_DEFAULT };
	struct parameter parameters[] = {
		{ .name = "q", .text = out->q, .text_size = sizeof(out->q) },
		{ .name = "page", .number = &out->page, .max = ADMIN_PARAMS_PAGE_MAX },
		{ .name = "cursor", .number = &out->after, .max = INT64_MAX },
		{ .name = "limit", .number = &out->limit, .max = ADMIN_PARAMS_LIMIT_MAX },
	};
	enum err err = read_all(query, parameters, ARRAY_SIZE(parameters), wrong);
	if (out->page > 0 && out->after > 0) {
		http_problem_add_field(wrong, "/cursor", "use page or cursor, not both");
		err = ERR_INVALID;
	}
	if (out->after == 0 && out->page == 0)
		out->page = 1;
	return err;
}

enum err admin_params_parse_audit(const char *query, struct audit_query *out,
                                  struct http_problem_fields *wrong)
{
	*out = (struct audit_query){ .limit = ADMIN_PARAMS_LIMIT_DEFAULT };
	struct parameter parameters[] = {
		{ .name = "cursor", .number = &out->before, .max = INT64_MAX },
		{ .name = "limit", .number = &out->limit, .max = ADMIN_PARAMS_LIMIT_MAX },
		{ .name = "actor_id", .number = &out->actor_id, .max = INT64_MAX },
		{ .name = "action", .text = out->action, .text_size = sizeof(out->action) },
		{ .name = "subject_type",
		  .text = out->subject_type,
		  .text_size = sizeof(out->subject_type) },
		{ .name = "subject_id", .number = &out->subject_id, .max = INT64_MAX },
	};
	return read_all(query, parameters, ARRAY_SIZE(parameters), wrong);
}
