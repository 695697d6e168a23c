#include "services/links-api/accounts/user_json.h"

static void set_links_per_day(struct json *object, const struct user *user)
{
	if (user->has_links_per_day)
		json_set_int(object, "links_per_day", user->links_per_day);
	else
		json_set_null(object, "links_per_day");
}

static void set_text_or_null(struct json *object, const char *name, const char *text)
{
	if (*text)
		json_set_text(object, name, text);
	else
		json_set_null(object, name);
}

static struct json *new_object(const struct user *user)
{
	struct json *object = json_new_object();
	json_set_int(object, "id", user->id);
	json_set_text(object, "email", user->email);
	json_set_text(object, "name", user->name);
	json_set_text(object, "role", user_store_role_name(user->role));
	return object;
}

struct json *user_json_new(const struct user *user)
{
	struct json *object = new_object(user);
	set_links_per_day(object, user);
	set_text_or_null(object, "tz", user->settings.tz);
	set_text_or_null(object, "locale", user->settings.locale);
	json_set_text(object, "theme", user->settings.theme);
	json_set_time(object, "created_at", user->created_at_us);

	struct json *response = json_new_object();
	json_set(response, "user", object);
	return response;
}

struct json *user_json_for_admin(const struct user *user)
{
	struct json *object = new_object(user);
	json_set_bool(object, "blocked", user->blocked);
	set_links_per_day(object, user);
	json_set_time(object, "created_at", user->created_at_us);
	return object;
}
