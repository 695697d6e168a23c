#include "services/links-api/links/link_json.h"

#include <string.h>

#include "lib/links/host_guard.h"
#include "lib/links/link_check_store.h"
#include "lib/links/visit_limit.h"
#include "services/links-api/destinations/destination_host.h"
#include "services/links-api/links/link_extras_json.h"
#include "services/links-api/links/utm.h"

static struct json *tags_json(const struct link_tags *tags)
{
	struct json *array = json_new_array();
	for (size_t i = 0; i < tags->count; i++)
		json_append_text(array, tags->tag[i]);
	return array;
}

static struct json *aliases_json(const struct link_aliases *aliases, int64_t link_id)
{
	const struct link_alias *alias;
	struct json *array = json_new_array();
	for (size_t left = link_aliases_of(aliases, link_id, &alias); left > 0; left--)
		json_append_text(array, alias++->slug);
	return array;
}

/* The ASCII form unless the host is an international one. */
static void set_host(struct json *json, const char *url)
{
	char display[DESTINATION_HOST_UNICODE_SIZE];
	const char *host;
	size_t len = link_url_host(url, &host);
	if (!destination_host_to_unicode(host, len, display)) {
		len = len < sizeof(display) ? len : sizeof(display) - 1;
		memcpy(display, host, len);
		display[len] = '\0';
	}
	json_set_text(json, "destination_host_display", display);
}

static void set_check(struct json *json, const struct link_detail *detail)
{
	if (detail->destination_status == LINK_CHECK_NEVER)
		json_set_null(json, "destination_status");
	else
		json_set_int(json, "destination_status", detail->destination_status);
	json_set_time(json, "last_checked_at", detail->last_checked_at_us);
}

static const char *state_name(const struct link_entry *entry, int64_t visits_left, int64_t now_us)
{
	enum link_state state = link_state_at(entry, now_us);
	return state == LINK_STATE_ACTIVE && visits_left == 0 ? "used_up" : link_state_name(state);
}

static void set_visits_left(struct json *json, int64_t visits_left)
{
	if (visits_left == VISIT_LIMIT_NONE)
		json_set_null(json, "visits_left");
	else
		json_set_int(json, "visits_left", visits_left);
}

struct json *link_json_new(const struct link *link, const struct link_details *details,
                           size_t place, const struct public_base *base, int64_t now_us)
{
	const struct link_detail *detail = &details->of[place];
	const struct link_entry *entry = &link->entry;
	char short_url[PUBLIC_BASE_SHORT_URL_SIZE];
	public_base_short_url(base, entry->slug, short_url);

	struct json *json = json_new_object();
	json_set_int(json, "id", entry->id);
	if (link->workspace_id)
		json_set_int(json, "workspace_id", link->workspace_id);
	else
		json_set_null(json, "workspace_id");
	if (link->created_by)
		json_set_int(json, "created_by", link->created_by);
	else
		json_set_null(json, "created_by");
	json_set_text(json, "slug", entry->slug);
	json_set_text(json, "short_url", short_url);
	json_set(json, "aliases", aliases_json(&details->aliases, entry->id));
	json_set_text(json, "external_id", link->external_id[0] ? link->external_id : NULL);
	json_set_text(json, "original_url", entry->original_url);
	set_host(json, entry->original_url);
	json_set_bool(json, "destination_blocked",
	              base->hosts && host_guard_check(base->hosts, entry->original_url) !=
	                                     HOST_POLICY_ALLOWED);
	json_set_text(json, "blocked_reason",
	              link->blocked_reason[0] ? link->blocked_reason : NULL);
	json_set_text(json, "link_type", link_type_name(link->type));
	json_set_text(json, "state", state_name(entry, detail->visits_left, now_us));
	json_set_int(json, "redirect_status", entry->redirect_status);
	json_set_time(json, "starts_at", entry->starts_at_us);
	json_set_time(json, "expires_at", entry->expires_at_us);
	json_set_text(json, "expired_url", entry->expired_url[0] ? entry->expired_url : NULL);
	json_set_text(json, "title", link->title);
	json_set(json, "tags", tags_json(&link->tags));
	json_set_text(json, "notes", detail->notes);
	utm_json_set(json, entry->original_url);
	link_extras_json_set(json, entry);
	set_visits_left(json, detail->visits_left);
	json_set_int(json, "version", entry->version);
	json_set_int(json, "humans", detail->visit_count);
	json_set_int(json, "bots", detail->bot_count);
	json_set_int(json, "total", detail->visit_count + detail->bot_count);
	json_set_time(json, "last_visited_at", detail->last_visited_at_us);
	set_check(json, detail);
	json_set_time(json, "created_at", link->created_at_us);
	json_set_time(json, "updated_at", link->updated_at_us);
	json_set_time(json, "deleted_at", link->deleted_at_us);
	json_set_time(json, "purge_at", detail->purge_at_us);
	return json;
}
