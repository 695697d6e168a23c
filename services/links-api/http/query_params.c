#include "services/links-api/http/query_params.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/number.h"
#include "lib/base/utf8.h"
#include "lib/http/http_query.h"
#include "services/links-api/http/member.h"

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
	bool is_number = !p->number || number_parse(value, p->min, p->max, p->number) == OK;
	if (!is_number && strcmp(p->name, "cursor") == 0)
		http_problem_add_field(wrong, pointer, "cursor",
		                       "invalid cursor; use next_cursor of an earlier response");
	else if (!is_number)
		http_problem_add_field(wrong, pointer, "number",
		                       "must be a number from %" PRId64 " to %" PRId64, p->min,
		                       p->max);
	else if (p->text && len >= p->text_size)
		http_problem_add_field(wrong, pointer, "too-many-bytes",
		                       "must have at most %zu bytes", p->text_size - 1);
	else if (p->text)
		memcpy(p->text, value, len + 1);
}

bool query_params_next(const char **query, struct query_pair *pair)
{
	const char *raw = *query + strspn(*query, "&");
	pair->err = http_query_next(query, pair->name, sizeof(pair->name), pair->value,
	                            sizeof(pair->value));
	if (pair->err == ERR_NOT_FOUND)
		return false;
	if (pair->name[0] == '\0')
		utf8_copy_clean(raw, strcspn(raw, "=&"), pair->name, sizeof(pair->name));
	member_pointer(pair->name, pair->pointer);
	return true;
}

bool query_params_accept(const struct query_pair *pair, bool *seen,
                         struct http_problem_fields *wrong)
{
	bool is_first = !*seen;
	*seen = true;
	if (!is_first)
		http_problem_add_field(wrong, pair->pointer, "duplicate", "is given twice");
	else if (pair->err == ERR_LIMIT)
		http_problem_add_field(wrong, pair->pointer, "too-many-bytes",
		                       "must have at most %zu bytes", sizeof(pair->value) - 1);
	else if (pair->err != OK)
		http_problem_add_field(wrong, pair->pointer, "malformed",
		                       "has a malformed escape, a NUL or invalid UTF-8");
	return is_first && pair->err == OK;
}

void query_params_refuse_unknown(const struct query_pair *pair, struct http_problem_fields *wrong)
{
	http_problem_add_field(wrong, pair->pointer, "unknown", "unknown query parameter");
}

enum err query_params_read(const char *query, struct query_param *params, size_t count,
                           struct http_problem_fields *wrong)
{
	struct query_pair pair;
	while (query_params_next(&query, &pair)) {
		struct query_param *p = find(params, count, pair.name);
		if (!p)
			query_params_refuse_unknown(&pair, wrong);
		else if (query_params_accept(&pair, &p->seen, wrong))
			read_value(p, pair.value, pair.pointer, wrong);
	}
	return wrong->count == 0 ? OK : ERR_INVALID;
}
