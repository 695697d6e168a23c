#include "services/links-api/links/link_extras_json.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/base/strbuf.h"
#include "lib/links/link_extras.h"
#include "services/links-api/links/link_rule_words.h"

/* More than the JSON of any extras. */
#define JSON_BYTES_MAX ((size_t)8 * LINK_EXTRAS_BYTES_MAX)

/* --- conditions --- */

static struct json *values_json(const Waymark__V1__LinkCondition *condition)
{
	struct json *array = json_new_array();
	for (size_t i = 0; i < condition->n_values; i++)
		json_append_text(array, condition->values[i]);
	return array;
}

static void add_query(struct json *when, const Waymark__V1__LinkCondition *condition)
{
	struct json *parameter = json_new_object();
	json_set_text(parameter, "name", condition->parameter);
	if (condition->n_values > 0)
		json_set(parameter, "values", values_json(condition));
	if (!json_get(when, "query"))
		json_set(when, "query", json_new_array());
	json_append(json_get(when, "query"), parameter);
}

static void set_minute(struct json *when, const char *name, uint32_t minute)
{
	char text[16];
	snprintf(text, sizeof(text), "%02u:%02u", (unsigned)minute / 60, (unsigned)minute % 60);
	json_set_text(when, name, text);
}

static void set_week(struct json *when, const Waymark__V1__LinkCondition *condition,
                     const Waymark__V1__LinkExtras *extras)
{
	if (condition->days) {
		struct json *days = json_new_array();
		for (unsigned i = 0; i < 7; i++)
			if (condition->days & 1U << i)
				json_append_text(days, link_rule_words_of_day(i));
		json_set(when, "days", days);
	}
	if (condition->from_minute || condition->until_minute) {
		set_minute(when, "time_from", condition->from_minute);
		set_minute(when, "time_until", condition->until_minute);
	}
	json_set_text(when, "time_zone",
	              condition->zone ? extras->zones[condition->zone - 1]->name : "UTC");
}

static void set_condition(struct json *when, const Waymark__V1__LinkCondition *condition,
                          const Waymark__V1__LinkExtras *extras)
{
	switch (condition->subject) {
	case WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_QUERY:
		add_query(when, condition);
		break;
	case WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_VISITOR:
		json_set_text(when, "visitor", condition->values[0]);
		break;
	case WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_PERIOD:
		if (condition->from_us)
			json_set_time(when, "from", condition->from_us);
		if (condition->until_us)
			json_set_time(when, "until", condition->until_us);
		break;
	case WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_WEEK:
		set_week(when, condition, extras);
		break;
	default:
		json_set(when, link_rule_words_of_subject(condition->subject),
		         values_json(condition));
	}
}

/* --- members --- */

static struct json *rules_json(const Waymark__V1__LinkExtras *extras)
{
	struct json *rules = json_new_array();
	for (size_t i = 0; i < extras->n_rules; i++) {
		const Waymark__V1__LinkRule *rule = extras->rules[i];
		struct json *object = json_new_object(), *when = json_new_object();
		for (size_t k = 0; k < rule->n_conditions; k++)
			set_condition(when, rule->conditions[k], extras);
		json_set_text(object, "name", rule->name);
		json_set(object, "when", when);
		json_set_text(object, "then", link_rule_words_of_action(rule->action));
		json_set_text(object, "url", rule->url[0] ? rule->url : NULL);
		json_set_text(object, "fallback_url",
		              rule->fallback_url[0] ? rule->fallback_url : NULL);
		json_append(rules, object);
	}
	return rules;
}

static void set_split(struct json *json, const Waymark__V1__LinkExtras *extras)
{
	if (extras->n_variants == 0) {
		json_set_null(json, "split");
		return;
	}
	struct json *split = json_new_object(), *variants = json_new_array();
	for (size_t i = 0; i < extras->n_variants; i++) {
		struct json *variant = json_new_object();
		json_set_text(variant, "name", extras->variants[i]->name);
		json_set_text(variant, "url", extras->variants[i]->url);
		json_set_int(variant, "weight", extras->variants[i]->weight);
		json_append(variants, variant);
	}
	json_set(split, "variants", variants);
	json_set_text(split, "winner", extras->winner[0] ? extras->winner : NULL);
	json_set(json, "split", split);
}

static void set_preview(struct json *json, const Waymark__V1__LinkExtras *extras)
{
	const char *title = extras->preview_title, *description = extras->preview_description,
		   *image = extras->preview_image_url;
	if (!title[0] && !description[0] && !image[0]) {
		json_set_null(json, "preview");
		return;
	}
	struct json *preview = json_new_object();
	json_set_text(preview, "title", title[0] ? title : NULL);
	json_set_text(preview, "description", description[0] ? description : NULL);
	json_set_text(preview, "image_url", image[0] ? image : NULL);
	json_set(json, "preview", preview);
}

static void set_members(struct json *json, const Waymark__V1__LinkExtras *extras)
{
	json_set(json, "rules", rules_json(extras));
	set_split(json, extras);
	json_set_bool(json, "forward_query", extras->forward_query);
	json_set_bool(json, "forward_path", extras->forward_path);
	if (extras->max_visits)
		json_set_int(json, "max_visits", extras->max_visits);
	else
		json_set_null(json, "max_visits");
	json_set_bool(json, "has_password", extras->password_hash[0] != '\0');
	set_preview(json, extras);
}

static unsigned effective_status(const struct link_entry *entry,
                                 const Waymark__V1__LinkExtras *extras)
{
	if (!(link_extras_features(extras) & LINK_FEATURES_NOT_CACHED))
		return entry->redirect_status;
	return entry->redirect_status == 301   ? 302
	       : entry->redirect_status == 308 ? 307
	                                       : entry->redirect_status;
}

void link_extras_json_set(struct json *json, const struct link_entry *entry)
{
	const Waymark__V1__LinkExtras none = WAYMARK__V1__LINK_EXTRAS__INIT;
	Waymark__V1__LinkExtras *extras =
		entry->extras_len > 0 ? link_extras_open(entry->extras, entry->extras_len) : NULL;
	set_members(json, extras ? extras : &none);
	json_set_int(json, "effective_redirect_status",
	             effective_status(entry, extras ? extras : &none));
	link_extras_free(extras);
}

/* --- history --- */

static bool are_equal(const struct json *a, const struct json *b)
{
	struct strbuf first, second;
	strbuf_init(&first, JSON_BYTES_MAX);
	strbuf_init(&second, JSON_BYTES_MAX);
	json_write(a, &first);
	json_write(b, &second);
	bool is_same = strcmp(first.data, second.data) == 0;
	strbuf_clear(&first);
	strbuf_clear(&second);
	return is_same;
}

static void add_change(struct json *changes, const char *name, struct json *from, struct json *to)
{
	struct json *change = json_new_object();
	json_set_text(change, "name", name);
	json_set(change, "from", from);
	json_set(change, "to", to);
	json_append(changes, change);
}

static void add_password_change(struct json *changes, const char *before, const char *after)
{
	struct json *change = json_new_object();
	json_set_text(change, "name", "password");
	json_set_text(change, "from", before[0] ? "set" : NULL);
	json_set_text(change, "to", after[0] ? "set" : NULL);
	if (strcmp(before, after) != 0)
		json_append(changes, change);
	else
		json_free(change);
}

struct json *link_extras_json_changes(const void *before, size_t len,
                                      const struct link_entry *after)
{
	static const char *const names[] = { "rules",        "split",      "forward_query",
		                             "forward_path", "max_visits", "preview" };
	const Waymark__V1__LinkExtras none = WAYMARK__V1__LINK_EXTRAS__INIT;
	if (len == after->extras_len && (len == 0 || memcmp(before, after->extras, len) == 0))
		return NULL;
	Waymark__V1__LinkExtras *old = len > 0 ? link_extras_open(before, len) : NULL;
	Waymark__V1__LinkExtras *new =
		after->extras_len > 0 ? link_extras_open(after->extras, after->extras_len) : NULL;
	struct json *from = json_new_object(), *to = json_new_object(), *changes = json_new_array();
	set_members(from, old ? old : &none);
	set_members(to, new ? new : &none);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct json *a = json_get(from, names[i]), *b = json_get(to, names[i]);
		if (!are_equal(a, b))
			add_change(changes, names[i], json_share(a), json_share(b));
	}
	add_password_change(changes, old ? old->password_hash : "", new ? new->password_hash : "");
	json_free(from);
	json_free(to);
	link_extras_free(old);
	link_extras_free(new);
	if (json_count(changes) > 0)
		return changes;
	json_free(changes);
	return NULL;
}
