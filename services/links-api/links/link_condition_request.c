#include "services/links-api/links/link_condition_request.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/base/array.h"
#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/base/timestamp.h"
#include "services/links-api/destinations/destination_host.h"
#include "services/links-api/http/member.h"
#include "services/links-api/links/link_rule_words.h"

#define QUERY_NAME_CHARS_MAX 100
#define QUERY_CONDITIONS_MAX 8
#define TEXT_CHARS_MAX 100
#define VALUE_SIZE (LINK_CONDITION_VALUE_CHARS_MAX * 4 + 1)

/* --- one value of a condition: written to out in the form that is compared, or reported --- */

typedef bool (*value_check)(const char *text, const char *pointer, char out[static VALUE_SIZE],
                            struct http_problem_fields *wrong);

static bool check_text(const char *text, const char *pointer, char out[static VALUE_SIZE],
                       struct http_problem_fields *wrong)
{
	if (!member_is_line(text, 1, TEXT_CHARS_MAX, pointer, wrong))
		return false;
	snprintf(out, VALUE_SIZE, "%s", text);
	return true;
}

static bool check_country(const char *text, const char *pointer, char out[static VALUE_SIZE],
                          struct http_problem_fields *wrong)
{
	if (link_rule_words_is_country(text)) {
		snprintf(out, VALUE_SIZE, "%c%c", toupper((unsigned char)text[0]),
		         toupper((unsigned char)text[1]));
		return true;
	}
	http_problem_add_field(wrong, pointer, "country",
	                       "must be a country of ISO 3166-1 like DE or GB");
	return false;
}

static bool check_region(const char *text, const char *pointer, char out[static VALUE_SIZE],
                         struct http_problem_fields *wrong)
{
	char country[3] = "";
	size_t len = strlen(text);
	memcpy(country, text, len < 2 ? len : 2);
	bool is_region =
		len >= 4 && len <= 6 && link_rule_words_is_country(country) && text[2] == '-';
	for (size_t i = 0; i < len && is_region; i++) {
		is_region = i == 2 || isalnum((unsigned char)text[i]);
		out[i] = (char)toupper((unsigned char)text[i]);
	}
	out[is_region ? len : 0] = '\0';
	if (!is_region)
		http_problem_add_field(wrong, pointer, "region",
		                       "must be a region of ISO 3166-2 like DE-BY");
	return is_region;
}

static bool check_device(const char *text, const char *pointer, char out[static VALUE_SIZE],
                         struct http_problem_fields *wrong)
{
	static const char *const devices[] = { "desktop", "mobile", "tablet", "bot", "other" };
	for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
		if (strcasecmp(text, devices[i]) == 0) {
			snprintf(out, VALUE_SIZE, "%s", devices[i]);
			return true;
		}
	}
	http_problem_add_field(wrong, pointer, "choice",
	                       "must be desktop, mobile, tablet, bot or other");
	return false;
}

static bool check_language(const char *text, const char *pointer, char out[static VALUE_SIZE],
                           struct http_problem_fields *wrong)
{
	size_t at = 0, part = 0;
	bool is_language = strlen(text) <= 35;
	while (is_language) {
		size_t len = strcspn(text + at, "-");
		is_language = len >= (part == 0 ? 2 : 1) && len <= (part == 0 ? 3 : 8);
		for (size_t i = at; is_language && i < at + len; i++)
			is_language = part == 0 ? isalpha((unsigned char)text[i])
			                        : isalnum((unsigned char)text[i]);
		at += len;
		part++;
		if (!is_language || text[at] == '\0')
			break;
		at++;
	}
	if (is_language)
		snprintf(out, VALUE_SIZE, "%s", text);
	else
		http_problem_add_field(wrong, pointer, "language",
		                       "must be a language like de or de-CH");
	return is_language;
}

/* "example.com", or ".example.com" for its subdomains. */
static bool check_host(const char *text, const char *pointer, char out[static VALUE_SIZE],
                       struct http_problem_fields *wrong)
{
	struct destination_host host;
	const char *reason = "must be a host like example.com, or .example.com for its subdomains";
	bool is_suffix = text[0] == '.';
	size_t len = strlen(text + is_suffix);
	if (len > 0 && destination_host_parse(text + is_suffix, len, &host, &reason) == OK &&
	    !(is_suffix && host.is_address)) {
		len = strlen(host.text);
		host.text[len - (host.text[len - 1] == '.')] = '\0';
		snprintf(out, VALUE_SIZE, "%s%s", is_suffix ? "." : "", host.text);
		return true;
	}
	http_problem_add_field(wrong, pointer, "host", "%s", reason);
	return false;
}

/* --- conditions --- */

static Waymark__V1__LinkCondition *add_condition(Waymark__V1__LinkRule *rule,
                                                 Waymark__V1__LinkSubject subject)
{
	Waymark__V1__LinkCondition *condition = mem_zero(sizeof(*condition));
	waymark__v1__link_condition__init(condition);
	condition->subject = subject;
	rule->conditions = mem_resize(rule->conditions, rule->n_conditions + 1, sizeof(condition));
	rule->conditions[rule->n_conditions++] = condition;
	return condition;
}

static void add_value(Waymark__V1__LinkCondition *condition, const char *value)
{
	condition->values = mem_resize(condition->values, condition->n_values + 1, sizeof(char *));
	condition->values[condition->n_values++] = mem_text(value);
}

static bool has_value(const Waymark__V1__LinkCondition *condition, const char *value)
{
	for (size_t i = 0; i < condition->n_values; i++)
		if (strcasecmp(condition->values[i], value) == 0)
			return true;
	return false;
}

/* False: not an array of 1 to max, which is reported. */
static bool is_list(const struct link_extras_reading *r, const struct json *value, size_t max,
                    const char *pointer)
{
	bool is_array = json_type(value) == JSON_ARRAY;
	if (is_array && json_count(value) >= 1 && json_count(value) <= max)
		return true;
	http_problem_add_field(r->wrong, pointer,
	                       !is_array                ? "type"
	                       : json_count(value) == 0 ? "empty"
	                                                : "too-many",
	                       "must be an array of 1 to %zu values", max);
	return false;
}

static void read_values(const struct link_extras_reading *r, const struct json *value,
                        const char *pointer, value_check check,
                        Waymark__V1__LinkCondition *condition)
{
	if (!is_list(r, value, LINK_CONDITION_VALUES_MAX, pointer))
		return;
	for (size_t i = 0; i < json_count(value); i++) {
		char at[HTTP_PROBLEM_POINTER_SIZE], text[VALUE_SIZE];
		member_point(at, pointer, "/%zu", i);
		const char *given = member_text(json_at(value, i), at, r->wrong);
		if (!given || !check(given, at, text, r->wrong))
			continue;
		if (has_value(condition, text))
			http_problem_add_field(r->wrong, at, "duplicate", "is given twice");
		else
			add_value(condition, text);
	}
}

static void read_visitor(const struct link_extras_reading *r, const struct json *value,
                         const char *pointer, Waymark__V1__LinkRule *rule)
{
	const char *text = json_type(value) == JSON_TEXT ? json_text(value, NULL) : "";
	if (strcmp(text, "human") != 0 && strcmp(text, "bot") != 0)
		http_problem_add_field(r->wrong, pointer, "choice", "must be human or bot");
	else
		add_value(add_condition(rule, WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_VISITOR),
		          text);
}

/* Values of a query may be empty, and differ in case. */
static void read_query_values(const struct link_extras_reading *r, const struct json *value,
                              const char *pointer, Waymark__V1__LinkCondition *condition)
{
	if (!is_list(r, value, LINK_CONDITION_VALUES_MAX, pointer))
		return;
	for (size_t i = 0; i < json_count(value); i++) {
		char at[HTTP_PROBLEM_POINTER_SIZE];
		member_point(at, pointer, "/%zu", i);
		const char *text = member_text(json_at(value, i), at, r->wrong);
		if (text && member_is_line(text, 0, LINK_CONDITION_VALUE_CHARS_MAX, at, r->wrong))
			add_value(condition, text);
	}
}

static void read_query(const struct link_extras_reading *r, const struct json *value,
                       const char *pointer, Waymark__V1__LinkRule *rule)
{
	static const char *const names[] = { "name", "values" };
	if (!is_list(r, value, QUERY_CONDITIONS_MAX, pointer))
		return;
	for (size_t i = 0; i < json_count(value); i++) {
		const struct json *item = json_at(value, i);
		char at[HTTP_PROBLEM_POINTER_SIZE], below[HTTP_PROBLEM_POINTER_SIZE];
		member_point(at, pointer, "/%zu", i);
		if (json_type(item) != JSON_OBJECT) {
			http_problem_add_field(r->wrong, at, "type", "must be an object");
			continue;
		}
		member_reject_unknown_at(item, at, names, ARRAY_SIZE(names), r->wrong);
		Waymark__V1__LinkCondition *condition =
			add_condition(rule, WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_QUERY);
		member_point(below, at, "/name");
		const struct json *name = json_get(item, "name");
		if (!name)
			http_problem_add_field(r->wrong, below, "required", "is required");
		const char *text = name ? member_text(name, below, r->wrong) : NULL;
		if (text && member_is_line(text, 1, QUERY_NAME_CHARS_MAX, below, r->wrong))
			condition->parameter = mem_text(text);
		member_point(below, at, "/values");
		if (member_or_null(item, "values"))
			read_query_values(r, json_get(item, "values"), below, condition);
	}
}

/* --- times --- */

static int64_t read_time(const struct link_extras_reading *r, const struct json *when,
                         const char *parent, const char *name)
{
	char pointer[HTTP_PROBLEM_POINTER_SIZE];
	int64_t at_us = 0;
	member_point(pointer, parent, "/%s", name);
	const struct json *value = member_or_null(when, name);
	const char *text = value ? member_text(value, pointer, r->wrong) : NULL;
	if (text && (timestamp_parse(text, &at_us) != OK || at_us <= 0))
		http_problem_add_field(
			r->wrong, pointer, "time",
			"must be an RFC 3339 timestamp like 2026-11-20T08:00:00.123Z");
	return at_us - at_us % CLOCK_US_PER_MS; /* as answers show it */
}

static void read_period(const struct link_extras_reading *r, const struct json *when,
                        const char *parent, Waymark__V1__LinkRule *rule)
{
	int64_t from_us = read_time(r, when, parent, "from");
	int64_t until_us = read_time(r, when, parent, "until");
	if (from_us <= 0 && until_us <= 0)
		return;
	char pointer[HTTP_PROBLEM_POINTER_SIZE];
	member_point(pointer, parent, "/until");
	if (until_us > 0 && from_us >= until_us)
		http_problem_add_field(r->wrong, pointer, "order", "must be after from");
	Waymark__V1__LinkCondition *condition =
		add_condition(rule, WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_PERIOD);
	condition->from_us = from_us;
	condition->until_us = until_us;
}

static uint32_t read_days(const struct link_extras_reading *r, const struct json *value,
                          const char *pointer)
{
	uint32_t days = 0;
	if (!is_list(r, value, 7, pointer))
		return 0;
	for (size_t i = 0; i < json_count(value); i++) {
		char at[HTTP_PROBLEM_POINTER_SIZE];
		member_point(at, pointer, "/%zu", i);
		const struct json *item = json_at(value, i);
		uint32_t day = link_rule_words_day(
			json_type(item) == JSON_TEXT ? json_text(item, NULL) : "");
		if (day == 0)
			http_problem_add_field(r->wrong, at, "choice",
			                       "must be mon, tue, wed, thu, fri, sat or sun");
		else if (days & day)
			http_problem_add_field(r->wrong, at, "duplicate", "is given twice");
		days |= day;
	}
	return days;
}

/* Minutes of the day of "HH:MM"; -1: something else. */
static int parse_minute(const char *text)
{
	bool is_time = strlen(text) == 5 && text[2] == ':';
	for (size_t i = 0; i < 5 && is_time; i++)
		is_time = i == 2 || isdigit((unsigned char)text[i]);
	int hour = is_time ? (text[0] - '0') * 10 + text[1] - '0' : 24;
	int minute = is_time ? (text[3] - '0') * 10 + text[4] - '0' : 60;
	return hour < 24 && minute < 60 ? hour * 60 + minute : -1;
}

static int read_minute(const struct link_extras_reading *r, const struct json *when,
                       const char *parent, const char *name)
{
	char pointer[HTTP_PROBLEM_POINTER_SIZE];
	member_point(pointer, parent, "/%s", name);
	const struct json *value = member_or_null(when, name);
	if (!value) {
		http_problem_add_field(r->wrong, pointer, "required",
		                       "time_from and time_until belong together");
		return -1;
	}
	int minute = parse_minute(json_type(value) == JSON_TEXT ? json_text(value, NULL) : "");
	if (minute < 0)
		http_problem_add_field(r->wrong, pointer, "time",
		                       "must be a time of the day from 00:00 to 23:59");
	return minute;
}

/* The number of a zone in conditions; 0 = UTC. */
static uint32_t add_zone(Waymark__V1__LinkExtras *extras, const char *name)
{
	if (strcmp(name, "UTC") == 0)
		return 0;
	for (size_t i = 0; i < extras->n_zones; i++)
		if (strcmp(extras->zones[i]->name, name) == 0)
			return (uint32_t)i + 1;
	Waymark__V1__LinkZone *zone = mem_zero(sizeof(*zone));
	waymark__v1__link_zone__init(zone);
	zone->name = mem_text(name);
	extras->zones = mem_resize(extras->zones, extras->n_zones + 1, sizeof(zone));
	extras->zones[extras->n_zones++] = zone;
	return (uint32_t)extras->n_zones;
}

static void read_week(const struct link_extras_reading *r, const struct json *when,
                      const char *parent, Waymark__V1__LinkRule *rule)
{
	char pointer[HTTP_PROBLEM_POINTER_SIZE];
	const struct json *days = member_or_null(when, "days");
	const struct json *zone = member_or_null(when, "time_zone");
	bool has_times = member_or_null(when, "time_from") || member_or_null(when, "time_until");
	if (zone && !days && !has_times) {
		member_point(pointer, parent, "/time_zone");
		http_problem_add_field(r->wrong, pointer, "not-allowed",
		                       "is for days, time_from and time_until");
	}
	if (!days && !has_times)
		return;
	Waymark__V1__LinkCondition *condition =
		add_condition(rule, WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_WEEK);
	member_point(pointer, parent, "/days");
	if (days)
		condition->days = read_days(r, days, pointer);
	int from = has_times ? read_minute(r, when, parent, "time_from") : 0;
	int until = has_times ? read_minute(r, when, parent, "time_until") : 0;
	member_point(pointer, parent, "/time_until");
	if (has_times && from >= 0 && from == until)
		http_problem_add_field(r->wrong, pointer, "order", "must differ from time_from");
	condition->from_minute = from > 0 ? (uint32_t)from : 0;
	condition->until_minute = until > 0 ? (uint32_t)until : 0;
	member_point(pointer, parent, "/time_zone");
	const char *name = zone ? member_text(zone, pointer, r->wrong) : NULL;
	if (name && member_is_line(name, 1, LINK_ZONE_NAME_CHARS_MAX, pointer, r->wrong))
		condition->zone = add_zone(r->extras, name);
}

/* --- all of a rule --- */

static const struct {
	Waymark__V1__LinkSubject subject;
	value_check check;
} lists[] = {
	{ WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_COUNTRY, check_country },
	{ WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_REGION, check_region },
	{ WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_CITY, check_text },
	{ WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_DEVICE, check_device },
	{ WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_OS, check_text },
	{ WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_BROWSER, check_text },
	{ WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_LANGUAGE, check_language },
	{ WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_REFERRER_HOST, check_host },
};

void link_condition_request_read(const struct link_extras_reading *r, const struct json *when,
                                 const char *parent, Waymark__V1__LinkRule *rule)
{
	static const char *const names[] = { "country", "region",    "city",       "device",
		                             "os",      "browser",   "language",   "referrer_host",
		                             "query",   "visitor",   "from",       "until",
		                             "days",    "time_from", "time_until", "time_zone" };
	char pointer[HTTP_PROBLEM_POINTER_SIZE];
	if (json_type(when) != JSON_OBJECT) {
		http_problem_add_field(r->wrong, parent, "type", "must be an object");
		return;
	}
	member_reject_unknown_at(when, parent, names, ARRAY_SIZE(names), r->wrong);
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		const char *name = link_rule_words_of_subject(lists[i].subject);
		const struct json *value = member_or_null(when, name);
		member_point(pointer, parent, "/%s", name);
		if (value)
			read_values(r, value, pointer, lists[i].check,
			            add_condition(rule, lists[i].subject));
	}
	member_point(pointer, parent, "/query");
	if (member_or_null(when, "query"))
		read_query(r, json_get(when, "query"), pointer, rule);
	member_point(pointer, parent, "/visitor");
	if (member_or_null(when, "visitor"))
		read_visitor(r, json_get(when, "visitor"), pointer, rule);
	read_period(r, when, parent, rule);
	read_week(r, when, parent, rule);
}
