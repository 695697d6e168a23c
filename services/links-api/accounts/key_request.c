#include "services/links-api/accounts/key_request.h"

#include <stdio.h>

#include "services/links-api/http/member.h"
#include "services/links-api/identity/scope.h"

static void read_name(const struct json *object, struct api_key *out,
                      struct http_problem_fields *wrong)
{
	const char *name = member_text_of(object, "name", true, wrong);
	if (name && member_is_line(name, 1, API_KEY_NAME_CHARS_MAX, "/name", wrong))
		snprintf(out->name, sizeof(out->name), "%s", name);
}

static void read_scope(const struct json *value, size_t index, struct api_key *out,
                       struct http_problem_fields *wrong)
{
	char pointer[HTTP_PROBLEM_POINTER_SIZE];
	snprintf(pointer, sizeof(pointer), "/scopes/%zu", index);
	const char *name = member_text(value, pointer, wrong);
	unsigned scope;
	if (!name)
		return;
	if (scope_parse(name, &scope) != OK)
		http_problem_add_field(wrong, pointer, "choice",
		                       "must be links:read, links:write or stats:read");
	else if (out->scopes & scope)
		http_problem_add_field(wrong, pointer, "duplicate", "is given twice");
	else
		out->scopes |= scope;
}

static void read_scopes(const struct json *object, struct api_key *out,
                        struct http_problem_fields *wrong)
{
	const struct json *scopes = json_get(object, "scopes");
	size_t count = scopes && json_type(scopes) == JSON_ARRAY ? json_count(scopes) : 0;
	if (!scopes)
		http_problem_add_field(wrong, "/scopes", "required", "is required");
	else if (count < 1 || count > SCOPE_COUNT)
		http_problem_add_field(wrong, "/scopes", "array",
		                       "must be an array of 1 to %d scopes", SCOPE_COUNT);
	else
		for (size_t i = 0; i < count; i++)
			read_scope(json_at(scopes, i), i, out, wrong);
}

enum err key_request_read(const struct json *object, int64_t now_us, struct api_key *out,
                          struct http_problem_fields *wrong)
{
	static const char *const names[] = { "name", "scopes", "expires_at" };
	struct api_key read = { 0 };
	member_reject_unknown(object, names, 3, wrong);
	read_name(object, &read, wrong);
	read_scopes(object, &read, wrong);
	member_future_time_of(object, "expires_at", now_us, &read.expires_at_us, wrong);
	if (wrong->count > 0)
		return ERR_INVALID;
	*out = read;
	return OK;
}
