#include "services/links-api/accounts/user_request.h"

#include <inttypes.h>

#include "services/links-api/http/member.h"

static void read_blocked(const struct json *object, struct user_change *out,
                         struct http_problem_fields *wrong)
{
	const struct json *value = json_get(object, "blocked");
	if (!value)
		return;
	out->has_blocked = true;
	if (json_type(value) == JSON_BOOL)
		out->blocked = json_bool(value);
	else
		http_problem_add_field(wrong, "/blocked", "type", "must be true or false");
}

static void read_role(const struct json *object, struct user_change *out,
                      struct http_problem_fields *wrong)
{
	const struct json *value = json_get(object, "role");
	if (!value)
		return;
	out->has_role = true;
	if (json_type(value) != JSON_TEXT ||
	    user_role_parse(json_text(value, NULL), &out->role) != OK)
		http_problem_add_field(wrong, "/role", "choice", "must be user or admin");
}

static void read_links_per_day(const struct json *object, struct user_change *out,
                               struct http_problem_fields *wrong)
{
	const struct json *value = json_get(object, "links_per_day");
	if (!value)
		return;
	out->has_links_per_day = true;
	out->links_per_day = -1;
	if (json_type(value) == JSON_NULL)
		return;
	if (json_type(value) == JSON_INT)
		out->links_per_day = json_int(value);
	if (out->links_per_day < 0 || out->links_per_day > USER_REQUEST_LINKS_PER_DAY_MAX)
		http_problem_add_field(wrong, "/links_per_day", "number",
		                       "must be null or a number from 0 to %" PRId64,
		                       USER_REQUEST_LINKS_PER_DAY_MAX);
}

enum err user_request_read(const struct json *object, struct user_change *out,
                           struct http_problem_fields *wrong)
{
	static const char *const names[] = { "blocked", "role", "links_per_day" };
	struct user_change read = { 0 };
	member_reject_unknown(object, names, 3, wrong);
	read_blocked(object, &read, wrong);
	read_role(object, &read, wrong);
	read_links_per_day(object, &read, wrong);
	if (wrong->count > 0)
		return ERR_INVALID;
	*out = read;
	return OK;
}
