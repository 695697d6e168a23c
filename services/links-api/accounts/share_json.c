#include "services/links-api/accounts/share_json.h"

/* Members of both forms. */
static void set_subject(struct json *object, const struct share *share, struct json *link,
                        const struct public_base *base)
{
	char short_url[PUBLIC_BASE_SHORT_URL_SIZE];
	json_set_text(object, "title", share->title);
	if (share->link_id) {
		public_base_short_url(base, share->slug, short_url);
		json_set_text(link, "slug", share->slug);
		json_set_text(link, "short_url", short_url);
		json_set_text(link, "title", share->link_title);
		json_set(object, "link", link);
		json_set_null(object, "tag");
	} else {
		json_free(link);
		json_set_null(object, "link");
		json_set_text(object, "tag", share->tag);
	}
}

struct json *share_json_new(const struct share *share, const struct public_base *base)
{
	struct json *object = json_new_object();
	struct json *link = json_new_object();
	json_set_int(link, "id", share->link_id);
	json_set_int(object, "id", share->id);
	set_subject(object, share, link, base);
	json_set_bool(object, "has_password", share->has_password);
	json_set_bool(object, "active", share->is_active);
	json_set_time(object, "expires_at", share->expires_at_us);
	json_set_time(object, "last_used_at", share->last_used_at_us);
	json_set_time(object, "created_at", share->created_at_us);
	return object;
}

struct json *share_json_for_reader(const struct share *share, const struct public_base *base)
{
	struct json *object = json_new_object();
	set_subject(object, share, json_new_object(), base);
	json_set_time(object, "expires_at", share->expires_at_us);
	return object;
}
