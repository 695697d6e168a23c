#include "services/links-api/user_json.h"

struct json *user_json_new(const struct user *user)
{
	struct json *inside = json_new_object();
	json_set_int(inside, "id", user->id);
	json_set_text(inside, "email", user->email);
	json_set_text(inside, "name", user->name);
	json_set_text(inside, "role", user_role_name(user->role));
	if (user->has_links_per_day)
		json_set_int(inside, "links_per_day", user->links_per_day);
	else
		json_set_null(inside, "links_per_day");
	json_set_time(inside, "created_at", user->created_at_us);

	struct json *answer = json_new_object();
	json_set(answer, "user", inside);
	return answer;
}
