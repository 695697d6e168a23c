#include "lib/links/link_decision.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "lib/base/digest.h"
#include "lib/base/url.h"
#include "lib/links/link_extras.h"

#define SECOND_US INT64_C(1000000)
#define MINUTE_S INT64_C(60)
#define DAY_S INT64_C(86400)
#define DAYS_OF_WEEK 7
/* 1970-01-01 was a Thursday; Monday is 0. */
#define EPOCH_WEEKDAY 3

/* --- texts --- */

/* What is not known is equal to nothing: no value is empty. */
static bool is_one_of(const Waymark__V1__LinkCondition *condition, const char *fact)
{
	if (!fact)
		return false;
	for (size_t i = 0; i < condition->n_values; i++)
		if (strcasecmp(condition->values[i], fact) == 0)
			return true;
	return false;
}

/* "de" stands for "de" and for "de-CH" (RFC 4647, 3.3.1). */
static bool speaks(const Waymark__V1__LinkCondition *condition, const char *language)
{
	if (!language)
		return false;
	for (size_t i = 0; i < condition->n_values; i++) {
		size_t len = strlen(condition->values[i]);
		if (strncasecmp(condition->values[i], language, len) == 0 &&
		    (language[len] == '\0' || language[len] == '-'))
			return true;
	}
	return false;
}

/* ".example.com" stands for the host and its subdomains, as in lists of hosts (host_policy.h). */
static bool host_is(const char *value, const char *host)
{
	if (value[0] != '.')
		return strcasecmp(value, host) == 0;
	size_t value_len = strlen(value), len = strlen(host);
	return strcasecmp(value + 1, host) == 0 ||
	       (len > value_len && strcasecmp(value, host + len - value_len) == 0);
}

static bool comes_from(const Waymark__V1__LinkCondition *condition, const char *host)
{
	if (!host || host[0] == '\0')
		return false;
	for (size_t i = 0; i < condition->n_values; i++)
		if (host_is(condition->values[i], host))
			return true;
	return false;
}

/* --- the query --- */

/* Whether a raw name or value stands for this text. A malformed escape stands for none. */
static bool decodes_to(const char *raw, size_t len, const char *text)
{
	for (size_t at = 0; at < len; text++) {
		int c;
		if (raw[at] == '+') {
			c = ' ';
			at++;
		} else {
			c = url_decode_next(raw, len, &at);
		}
		if (*text == '\0' || c != (unsigned char)*text)
			return false;
	}
	return *text == '\0';
}

static bool value_is_one_of(const Waymark__V1__LinkCondition *condition, const char *raw,
                            size_t len)
{
	for (size_t i = 0; i < condition->n_values; i++)
		if (decodes_to(raw, len, condition->values[i]))
			return true;
	return condition->n_values == 0;
}

static bool asks(const Waymark__V1__LinkCondition *condition, const char *query)
{
	while (query && *query != '\0') {
		size_t pair = strcspn(query, "&");
		size_t name = strcspn(query, "=&");
		size_t value = name < pair ? name + 1 : pair;
		if (pair > 0 && decodes_to(query, name, condition->parameter) &&
		    value_is_one_of(condition, query + value, pair - value))
			return true;
		query += pair + (query[pair] == '&');
	}
	return false;
}

/* --- times --- */

static bool is_within(const Waymark__V1__LinkCondition *period, int64_t now_us)
{
	return now_us >= period->from_us && (period->until_us == 0 || now_us < period->until_us);
}

static int64_t offset_at(const Waymark__V1__LinkZone *zone, int64_t now_s)
{
	size_t since = 0;
	while (since + 1 < zone->n_since_s && zone->since_s[since + 1] <= now_s)
		since++;
	return zone->offset_s[since];
}

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

static bool is_in_week(const struct Waymark__V1__LinkExtras *extras,
                       const Waymark__V1__LinkCondition *week, int64_t now_us)
{
	int64_t local_s = floor_div(now_us, SECOND_US);
	if (week->zone > 0)
		local_s += offset_at(extras->zones[week->zone - 1], local_s);
	int64_t day = floor_div(local_s, DAY_S);
	int64_t minute = (local_s - day * DAY_S) / MINUTE_S;
	bool is_all_day = week->from_minute == 0 && week->until_minute == 0;
	if (!is_all_day && week->until_minute > week->from_minute) {
		if (minute < week->from_minute || minute >= week->until_minute)
			return false;
	} else if (!is_all_day && minute < week->from_minute) {
		if (minute >= week->until_minute)
			return false;
		/* It began the day before. */
		day--;
	}
	day += EPOCH_WEEKDAY;
	int64_t weekday = day - DAYS_OF_WEEK * floor_div(day, DAYS_OF_WEEK);
	return week->days == 0 || (week->days >> weekday & 1) != 0;
}

/* --- rules --- */

static bool holds(const struct Waymark__V1__LinkExtras *extras,
                  const Waymark__V1__LinkCondition *condition, const struct link_visitor *visitor)
{
	switch (condition->subject) {
	case WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_COUNTRY:
		return is_one_of(condition, visitor->country);
	case WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_REGION:
		return is_one_of(condition, visitor->region);
	case WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_CITY:
		return is_one_of(condition, visitor->city);
	case WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_DEVICE:
		return is_one_of(condition, visitor->device);
	case WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_OS:
		return is_one_of(condition, visitor->os);
	case WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_BROWSER:
		return is_one_of(condition, visitor->browser);
	case WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_LANGUAGE:
		return speaks(condition, visitor->language);
	case WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_QUERY:
		return asks(condition, visitor->query);
	case WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_REFERRER_HOST:
		return comes_from(condition, visitor->referrer_host);
	case WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_VISITOR:
		return is_one_of(condition, visitor->is_bot ? "bot" : "human");
	case WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_PERIOD:
		return is_within(condition, visitor->now_us);
	case WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_WEEK:
		return is_in_week(extras, condition, visitor->now_us);
	default:
		return false;
	}
}

static const Waymark__V1__LinkRule *find_rule(const struct Waymark__V1__LinkExtras *extras,
                                              const struct link_visitor *visitor)
{
	for (size_t i = 0; i < extras->n_rules; i++) {
		const Waymark__V1__LinkRule *rule = extras->rules[i];
		size_t c = 0;
		while (c < rule->n_conditions && holds(extras, rule->conditions[c], visitor))
			c++;
		if (c == rule->n_conditions)
			return rule;
	}
	return NULL;
}

/* --- the split --- */

static size_t put_number(uint8_t *out, uint64_t number)
{
	for (int i = 0; i < 8; i++)
		out[i] = (uint8_t)(number >> (56 - 8 * i));
	return 8;
}

static double score_of(const Waymark__V1__LinkVariant *variant, int64_t link_id,
                       const struct link_visitor *visitor)
{
	uint8_t text[LINK_VISITOR_HASH_SIZE + 8 + LINK_NAME_SIZE];
	uint8_t digest[DIGEST_SIZE];
	size_t len = 0, name_len = strlen(variant->name);
	if (visitor->visitor_hash) {
		memcpy(text, visitor->visitor_hash, LINK_VISITOR_HASH_SIZE);
		len = LINK_VISITOR_HASH_SIZE;
	} else {
		len = put_number(text, visitor->random);
	}
	len += put_number(text + len, (uint64_t)link_id);
	memcpy(text + len, variant->name, name_len);
	digest_sha256(text, len + name_len, digest);
	uint64_t bits = 0;
	for (size_t i = 0; i < 8; i++)
		bits = bits << 8 | digest[i];
	/* 52 bits and the half are exact, so that u is never 0 or 1. */
	double u = ((double)(bits >> 12) + 0.5) * 0x1p-52;
	return variant->weight / -log(u);
}

static const Waymark__V1__LinkVariant *find_variant(const struct Waymark__V1__LinkExtras *extras,
                                                    int64_t link_id,
                                                    const struct link_visitor *visitor)
{
	const Waymark__V1__LinkVariant *best = NULL;
	double best_score = 0;
	for (size_t i = 0; i < extras->n_variants; i++) {
		const Waymark__V1__LinkVariant *variant = extras->variants[i];
		if (strcmp(extras->winner, variant->name) == 0)
			return variant;
		double score = extras->winner[0] != '\0' ? 0 : score_of(variant, link_id, visitor);
		if (score > best_score) {
			best = variant;
			best_score = score;
		}
	}
	return best;
}

/* --- the decision --- */

void link_decision_take(const struct Waymark__V1__LinkExtras *extras, int64_t link_id,
                        const char *original_url, const struct link_visitor *visitor,
                        struct link_decision *out)
{
	*out = (struct link_decision){ .kind = LINK_DECISION_REDIRECT,
		                       .url = original_url,
		                       .fallback_url = "",
		                       .rule = "",
		                       .variant = "" };
	const Waymark__V1__LinkRule *rule = find_rule(extras, visitor);
	if (rule)
		out->rule = rule->name;
	if (rule && rule->action == WAYMARK__V1__LINK_ACTION__LINK_ACTION_GONE) {
		out->kind = LINK_DECISION_GONE;
		out->url = "";
		return;
	}
	if (rule && rule->action == WAYMARK__V1__LINK_ACTION__LINK_ACTION_REDIRECT) {
		out->url = rule->url;
		out->fallback_url = rule->fallback_url;
		return;
	}
	const Waymark__V1__LinkVariant *variant = find_variant(extras, link_id, visitor);
	if (variant) {
		out->url = variant->url;
		out->variant = variant->name;
	}
}

static unsigned facts_of(const Waymark__V1__LinkCondition *condition)
{
	switch (condition->subject) {
	case WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_COUNTRY:
	case WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_REGION:
	case WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_CITY:
		return LINK_FACT_PLACE;
	case WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_DEVICE:
	case WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_OS:
	case WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_BROWSER:
	case WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_VISITOR:
		return LINK_FACT_AGENT;
	default:
		return 0;
	}
}

unsigned link_decision_facts(const struct Waymark__V1__LinkExtras *extras)
{
	bool is_split = extras->n_variants > 0 && extras->winner[0] == '\0';
	unsigned facts = is_split ? LINK_FACT_VISITOR : 0;
	for (size_t i = 0; i < extras->n_rules; i++)
		for (size_t c = 0; c < extras->rules[i]->n_conditions; c++)
			facts |= facts_of(extras->rules[i]->conditions[c]);
	return facts;
}
