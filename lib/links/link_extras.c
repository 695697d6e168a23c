#include "lib/links/link_extras.h"

#include <stdbool.h>
#include <string.h>

#include "lib/base/utf8.h"
#include "lib/protobuf/protobuf.h"

#define OFFSET_MAX_S 86400

/* --- texts --- */

/* Whether text has min to max characters, none of them a control character. */
static bool text_fits(const char *text, size_t min, size_t max)
{
	size_t len = strlen(text);
	size_t at = utf8_printable_prefix(text, len);
	size_t characters = at;
	while (at < len) {
		size_t step = utf8_next(text + at, len - at);
		if (step == 0 || utf8_is_control(text + at))
			return false;
		at += step;
		characters++;
	}
	return characters >= min && characters <= max;
}

static bool name_fits(const char *name)
{
	return text_fits(name, 1, LINK_NAME_CHARS_MAX);
}

static bool url_fits(const char *url)
{
	size_t len = strlen(url);
	return len > 0 && len <= LINK_URL_MAX && utf8_printable_prefix(url, len) == len &&
	       !memchr(url, ' ', len);
}

/* --- conditions --- */

static bool values_fit(const Waymark__V1__LinkCondition *condition, size_t chars_min)
{
	if (condition->n_values > LINK_CONDITION_VALUES_MAX)
		return false;
	for (size_t i = 0; i < condition->n_values; i++)
		if (!text_fits(condition->values[i], chars_min, LINK_CONDITION_VALUE_CHARS_MAX))
			return false;
	return true;
}

static bool period_fits(const Waymark__V1__LinkCondition *period)
{
	if (period->from_us < 0 || period->until_us < 0)
		return false;
	return period->until_us == 0 ? period->from_us > 0 : period->until_us > period->from_us;
}

static bool week_fits(const Waymark__V1__LinkCondition *week, size_t zones)
{
	return week->days <= LINK_DAYS_ALL && week->from_minute < LINK_MINUTES_OF_DAY &&
	       week->until_minute < LINK_MINUTES_OF_DAY && week->zone <= zones;
}

/* What is wrong with a condition, or NULL. */
static const char *check_condition(const Waymark__V1__LinkCondition *condition, size_t zones)
{
	switch (condition->subject) {
	case WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_COUNTRY:
	case WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_REGION:
	case WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_CITY:
	case WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_DEVICE:
	case WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_OS:
	case WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_BROWSER:
	case WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_LANGUAGE:
	case WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_REFERRER_HOST:
	case WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_VISITOR:
		return condition->n_values > 0 && values_fit(condition, 1) ? NULL
		                                                           : "condition: values";
	case WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_QUERY:
		if (!text_fits(condition->parameter, 1, LINK_CONDITION_VALUE_CHARS_MAX))
			return "condition: parameter";
		return values_fit(condition, 0) ? NULL : "condition: values";
	case WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_PERIOD:
		return period_fits(condition) ? NULL : "condition: period";
	case WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_WEEK:
		return week_fits(condition, zones) ? NULL : "condition: week";
	default:
		return "condition: subject";
	}
}

/* --- rules --- */

static bool action_fits(const Waymark__V1__LinkRule *rule)
{
	bool has_fallback = rule->fallback_url[0] != '\0';
	switch (rule->action) {
	case WAYMARK__V1__LINK_ACTION__LINK_ACTION_REDIRECT:
		return url_fits(rule->url) && (!has_fallback || url_fits(rule->fallback_url));
	case WAYMARK__V1__LINK_ACTION__LINK_ACTION_GONE:
	case WAYMARK__V1__LINK_ACTION__LINK_ACTION_AS_USUAL:
		return rule->url[0] == '\0' && !has_fallback;
	default:
		return false;
	}
}

static const char *check_rule(const Waymark__V1__LinkRule *rule, size_t zones)
{
	if (!name_fits(rule->name))
		return "rule: name";
	if (!action_fits(rule))
		return "rule: action";
	if (rule->n_conditions > LINK_RULE_CONDITIONS_MAX)
		return "rule: conditions";
	const char *problem = NULL;
	for (size_t i = 0; i < rule->n_conditions && !problem; i++)
		problem = check_condition(rule->conditions[i], zones);
	return problem;
}

static const char *check_rules(const Waymark__V1__LinkExtras *extras)
{
	if (extras->n_rules > LINK_RULES_MAX)
		return "rules";
	for (size_t i = 0; i < extras->n_rules; i++) {
		const char *problem = check_rule(extras->rules[i], extras->n_zones);
		if (problem)
			return problem;
		for (size_t before = 0; before < i; before++)
			if (strcmp(extras->rules[before]->name, extras->rules[i]->name) == 0)
				return "rules: a name twice";
	}
	return NULL;
}

/* --- the split --- */

static const char *check_variants(const Waymark__V1__LinkExtras *extras)
{
	bool has_winner = extras->winner[0] == '\0';
	if (extras->n_variants > LINK_VARIANTS_MAX ||
	    (extras->n_variants > 0 && extras->n_variants < LINK_VARIANTS_MIN))
		return "variants";
	for (size_t i = 0; i < extras->n_variants; i++) {
		const Waymark__V1__LinkVariant *variant = extras->variants[i];
		if (!name_fits(variant->name))
			return "variant: name";
		if (!url_fits(variant->url))
			return "variant: url";
		if (variant->weight == 0 || variant->weight > LINK_VARIANT_WEIGHT_MAX)
			return "variant: weight";
		for (size_t before = 0; before < i; before++)
			if (strcmp(extras->variants[before]->name, variant->name) == 0)
				return "variants: a name twice";
		has_winner = has_winner || strcmp(extras->winner, variant->name) == 0;
	}
	return has_winner ? NULL : "winner";
}

/* --- the rest --- */

static bool zone_fits(const Waymark__V1__LinkZone *zone)
{
	if (!text_fits(zone->name, 1, LINK_ZONE_NAME_CHARS_MAX) || zone->n_since_s == 0 ||
	    zone->n_since_s > LINK_ZONE_TRANSITIONS_MAX || zone->n_offset_s != zone->n_since_s)
		return false;
	for (size_t i = 0; i < zone->n_since_s; i++)
		if (zone->offset_s[i] < -OFFSET_MAX_S || zone->offset_s[i] > OFFSET_MAX_S ||
		    (i > 0 && zone->since_s[i] <= zone->since_s[i - 1]))
			return false;
	return true;
}

static const char *check_zones(const Waymark__V1__LinkExtras *extras)
{
	if (extras->n_zones > LINK_ZONES_MAX)
		return "zones";
	for (size_t i = 0; i < extras->n_zones; i++)
		if (!zone_fits(extras->zones[i]))
			return "zone";
	return NULL;
}

static const char *check_others(const Waymark__V1__LinkExtras *extras)
{
	if (extras->max_visits < 0 || extras->max_visits > LINK_MAX_VISITS_MAX)
		return "max_visits";
	if (extras->password_hash[0] != '\0' &&
	    !text_fits(extras->password_hash, LINK_PASSWORD_HASH_LENGTH, LINK_PASSWORD_HASH_LENGTH))
		return "password_hash";
	if (!text_fits(extras->preview_title, 0, LINK_PREVIEW_TITLE_CHARS_MAX))
		return "preview_title";
	if (!text_fits(extras->preview_description, 0, LINK_PREVIEW_DESCRIPTION_CHARS_MAX))
		return "preview_description";
	if (extras->preview_image_url[0] != '\0' && !url_fits(extras->preview_image_url))
		return "preview_image_url";
	return NULL;
}

enum err link_extras_check(const struct Waymark__V1__LinkExtras *extras, const char **problem)
{
	const char *found = check_rules(extras);
	if (!found)
		found = check_variants(extras);
	if (!found)
		found = check_zones(extras);
	if (!found)
		found = check_others(extras);
	if (found && problem)
		*problem = found;
	return found ? ERR_INVALID : OK;
}

/* --- encoded --- */

struct Waymark__V1__LinkExtras *link_extras_open(const void *bytes, size_t len)
{
	const char *problem;
	if (len > LINK_EXTRAS_BYTES_MAX)
		return NULL;
	struct Waymark__V1__LinkExtras *extras =
		protobuf_unpack(&waymark__v1__link_extras__descriptor, bytes, len, &problem);
	if (extras && link_extras_check(extras, NULL) != OK) {
		protobuf_free(extras);
		return NULL;
	}
	return extras;
}

void link_extras_free(struct Waymark__V1__LinkExtras *extras)
{
	protobuf_free(extras);
}

enum err link_extras_pack(const struct Waymark__V1__LinkExtras *extras,
                          uint8_t out[static LINK_EXTRAS_BYTES_MAX], size_t *len)
{
	size_t size = waymark__v1__link_extras__get_packed_size(extras);
	if (size > LINK_EXTRAS_BYTES_MAX)
		return ERR_LIMIT;
	*len = waymark__v1__link_extras__pack(extras, out);
	return OK;
}

unsigned link_extras_features(const struct Waymark__V1__LinkExtras *extras)
{
	bool has_preview = extras->preview_title[0] != '\0' ||
	                   extras->preview_description[0] != '\0' ||
	                   extras->preview_image_url[0] != '\0';
	return (extras->n_rules > 0 ? LINK_FEATURE_RULES : 0u) |
	       (extras->n_variants > 0 ? LINK_FEATURE_SPLIT : 0u) |
	       (extras->max_visits > 0 ? LINK_FEATURE_LIMIT : 0u) |
	       (extras->password_hash[0] != '\0' ? LINK_FEATURE_PASSWORD : 0u) |
	       (extras->forward_query || extras->forward_path ? LINK_FEATURE_FORWARD : 0u) |
	       (has_preview ? LINK_FEATURE_PREVIEW : 0u);
}
