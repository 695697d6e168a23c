#include "services/links-api/links/link_rule_request.h"

#include <string.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "services/links-api/destinations/destination_check.h"
#include "services/links-api/http/member.h"
#include "services/links-api/links/link_condition_request.h"
#include "services/links-api/links/link_rule_words.h"

char *link_rule_request_name(const struct link_extras_reading *r, const struct json *object,
                             const char *parent)
{
	char pointer[HTTP_PROBLEM_POINTER_SIZE];
	member_point(pointer, parent, "/name");
	const struct json *value = json_get(object, "name");
	if (!value)
		http_problem_add_field(r->wrong, pointer, "required", "is required");
	const char *text = value ? member_text(value, pointer, r->wrong) : NULL;
	bool is_name = text && member_is_line(text, 1, LINK_NAME_CHARS_MAX, pointer, r->wrong);
	return mem_text(is_name ? text : "");
}

static void read_url(const struct link_extras_reading *r, const struct json *object,
                     const char *parent, Waymark__V1__LinkRule *rule)
{
	char pointer[HTTP_PROBLEM_POINTER_SIZE];
	const struct json *url = member_or_null(object, "url");
	bool redirects = rule->action == WAYMARK__V1__LINK_ACTION__LINK_ACTION_REDIRECT;
	member_point(pointer, parent, "/url");
	if (redirects && !url)
		http_problem_add_field(r->wrong, pointer, "required", "is required with redirect");
	else if (url && !redirects && rule->action)
		http_problem_add_field(r->wrong, pointer, "not-allowed", "is only for redirect");
	char *read =
		url && redirects ? destination_check(r->base, url, pointer, true, r->wrong) : NULL;
	if (read)
		rule->url = read;
}

static void read_fallback(const struct link_extras_reading *r, const struct json *object,
                          const char *parent, Waymark__V1__LinkRule *rule)
{
	char pointer[HTTP_PROBLEM_POINTER_SIZE];
	const struct json *fallback = member_or_null(object, "fallback_url");
	bool redirects = rule->action == WAYMARK__V1__LINK_ACTION__LINK_ACTION_REDIRECT;
	member_point(pointer, parent, "/fallback_url");
	if (!fallback)
		return;
	bool is_for_app = redirects && (!rule->url[0] || destination_check_is_app(rule->url));
	if (!is_for_app && rule->action)
		http_problem_add_field(r->wrong, pointer, "not-allowed",
		                       "is only for a url with the scheme of an app");
	char *read =
		is_for_app ? destination_check(r->base, fallback, pointer, false, r->wrong) : NULL;
	if (read)
		rule->fallback_url = read;
}

static void read_rule(const struct link_extras_reading *r, const struct json *value,
                      const char *pointer, Waymark__V1__LinkRule *rule)
{
	static const char *const names[] = { "name", "when", "then", "url", "fallback_url" };
	char at[HTTP_PROBLEM_POINTER_SIZE];
	if (json_type(value) != JSON_OBJECT) {
		http_problem_add_field(r->wrong, pointer, "type", "must be an object");
		return;
	}
	member_reject_unknown_at(value, pointer, names, ARRAY_SIZE(names), r->wrong);
	rule->name = link_rule_request_name(r, value, pointer);
	member_point(at, pointer, "/when");
	const struct json *when = json_get(value, "when"), *then = json_get(value, "then");
	if (when)
		link_condition_request_read(r, when, at, rule);
	else
		http_problem_add_field(r->wrong, at, "required", "is required; {} is always");
	member_point(at, pointer, "/then");
	rule->action = link_rule_words_action(
		then && json_type(then) == JSON_TEXT ? json_text(then, NULL) : "");
	if (!rule->action)
		http_problem_add_field(r->wrong, at, then ? "choice" : "required",
		                       "must be redirect, gone or as_usual");
	read_url(r, value, pointer, rule);
	read_fallback(r, value, pointer, rule);
}

/* Statistics tell rules apart by their names. */
static bool is_name_used(const Waymark__V1__LinkExtras *extras, const char *name)
{
	for (size_t i = 0; i < extras->n_rules; i++)
		if (strcmp(extras->rules[i]->name, name) == 0)
			return true;
	return false;
}

void link_rule_request_read(const struct link_extras_reading *r, const struct json *value)
{
	Waymark__V1__LinkExtras *extras = r->extras;
	bool is_array = json_type(value) == JSON_ARRAY;
	if (json_type(value) == JSON_NULL)
		return;
	if (!is_array || json_count(value) > LINK_RULES_MAX) {
		http_problem_add_field(r->wrong, "/rules", is_array ? "too-many" : "type",
		                       "must be an array of at most %d rules", LINK_RULES_MAX);
		return;
	}
	extras->rules = mem_array(json_count(value), sizeof(*extras->rules));
	for (size_t i = 0; i < json_count(value); i++) {
		char pointer[HTTP_PROBLEM_POINTER_SIZE], at[HTTP_PROBLEM_POINTER_SIZE];
		Waymark__V1__LinkRule *rule = mem_zero(sizeof(*rule));
		waymark__v1__link_rule__init(rule);
		member_point(pointer, "", "/rules/%zu", i);
		read_rule(r, json_at(value, i), pointer, rule);
		member_point(at, pointer, "/name");
		if (rule->name[0] && is_name_used(extras, rule->name))
			http_problem_add_field(r->wrong, at, "duplicate",
			                       "is the name of an earlier rule");
		extras->rules[extras->n_rules++] = rule;
	}
}
