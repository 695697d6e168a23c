#include "tests/unit/links/extras_fixture.h"

#include <assert.h>

#define CONDITIONS_MAX 64

Waymark__V1__LinkExtras extras;

static struct {
	Waymark__V1__LinkRule rule[LINK_RULES_MAX + 1];
	Waymark__V1__LinkRule *rules[LINK_RULES_MAX + 1];
	Waymark__V1__LinkVariant variant[LINK_VARIANTS_MAX + 1];
	Waymark__V1__LinkVariant *variants[LINK_VARIANTS_MAX + 1];
	Waymark__V1__LinkCondition condition[CONDITIONS_MAX];
	Waymark__V1__LinkCondition *conditions[CONDITIONS_MAX];
	char *values[CONDITIONS_MAX][LINK_CONDITION_VALUES_MAX + 1];
	size_t conditions_count;
	/* Of those, in rules. */
	size_t conditions_used;
	Waymark__V1__LinkZone zone[2];
	Waymark__V1__LinkZone *zones[2];
	int64_t since_s[2][2];
	int32_t offset_s[2][2];
} store;

void extras_begin(void)
{
	waymark__v1__link_extras__init(&extras);
	extras.rules = store.rules;
	extras.variants = store.variants;
	extras.zones = store.zones;
	store.conditions_count = 0;
	store.conditions_used = 0;
}

Waymark__V1__LinkCondition *when_any(Waymark__V1__LinkSubject subject, const char *const *values)
{
	size_t index = store.conditions_count++;
	assert(index < CONDITIONS_MAX);
	Waymark__V1__LinkCondition *condition = &store.condition[index];
	waymark__v1__link_condition__init(condition);
	condition->subject = subject;
	condition->values = store.values[index];
	for (; values && *values; values++)
		condition->values[condition->n_values++] = (char *)*values;
	store.conditions[index] = condition;
	return condition;
}

Waymark__V1__LinkCondition *when_query(const char *parameter, const char *const *values)
{
	Waymark__V1__LinkCondition *condition =
		when_any(WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_QUERY, values);
	condition->parameter = (char *)parameter;
	return condition;
}

Waymark__V1__LinkCondition *when_period(int64_t from_us, int64_t until_us)
{
	Waymark__V1__LinkCondition *condition =
		when_any(WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_PERIOD, NULL);
	condition->from_us = from_us;
	condition->until_us = until_us;
	return condition;
}

Waymark__V1__LinkCondition *when_week(uint32_t days, uint32_t from_minute, uint32_t until_minute,
                                      uint32_t zone_number)
{
	Waymark__V1__LinkCondition *condition =
		when_any(WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_WEEK, NULL);
	condition->days = days;
	condition->from_minute = from_minute;
	condition->until_minute = until_minute;
	condition->zone = zone_number;
	return condition;
}

Waymark__V1__LinkRule *rule(const char *name, const char *url)
{
	Waymark__V1__LinkRule *added = &store.rule[extras.n_rules];
	waymark__v1__link_rule__init(added);
	added->name = (char *)name;
	added->action = url ? WAYMARK__V1__LINK_ACTION__LINK_ACTION_REDIRECT
	                    : WAYMARK__V1__LINK_ACTION__LINK_ACTION_GONE;
	if (url)
		added->url = (char *)url;
	added->conditions = store.conditions + store.conditions_used;
	added->n_conditions = store.conditions_count - store.conditions_used;
	store.conditions_used = store.conditions_count;
	store.rules[extras.n_rules++] = added;
	return added;
}

Waymark__V1__LinkVariant *variant(const char *name, const char *url, uint32_t weight)
{
	Waymark__V1__LinkVariant *added = &store.variant[extras.n_variants];
	waymark__v1__link_variant__init(added);
	added->name = (char *)name;
	added->url = (char *)url;
	added->weight = weight;
	store.variants[extras.n_variants++] = added;
	return added;
}

uint32_t zone(const char *name, int32_t offset_s, int64_t change_s, int32_t offset_after_s)
{
	size_t index = extras.n_zones++;
	Waymark__V1__LinkZone *added = &store.zone[index];
	waymark__v1__link_zone__init(added);
	added->name = (char *)name;
	added->since_s = store.since_s[index];
	added->offset_s = store.offset_s[index];
	added->n_since_s = added->n_offset_s = 2;
	added->since_s[0] = INT64_C(-5000000000);
	added->offset_s[0] = offset_s;
	added->since_s[1] = change_s;
	added->offset_s[1] = offset_after_s;
	store.zones[index] = added;
	return (uint32_t)index + 1;
}
