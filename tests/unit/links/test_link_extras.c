#include <stdio.h>
#include <string.h>

#include "lib/base/mem.h"
#include "tests/support/test.h"
#include "tests/unit/links/extras_fixture.h"

#define HASH                                                                                       \
	"$2b$10$"                                                                                  \
	"abcdefghijklmnopqrstu"                                                                    \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ012345"

static uint8_t packed[LINK_EXTRAS_BYTES_MAX];

static void sample(void)
{
	extras_begin();
	when(COUNTRY, "DE", "AT");
	when_query("ref", (const char *const[]){ "a b", "", NULL });
	when_period(1, 2);
	when_week(31, 540, 1020, zone("Europe/Berlin", 3600, 1774746000, 7200));
	rule("germans", "https://example.de/");
	rule("rest", NULL);
	variant("a", "https://a.example/", 1);
	variant("b", "https://b.example/", LINK_VARIANT_WEIGHT_MAX);
	extras.winner = (char *)"b";
	extras.forward_query = true;
	extras.max_visits = 500;
	extras.password_hash = (char *)HASH;
	extras.preview_title = (char *)"Frühling";
}

static Waymark__V1__LinkExtras *reopen(void)
{
	size_t len;
	assert_int_equal(link_extras_pack(&extras, packed, &len), OK);
	return link_extras_open(packed, len);
}

TEST_CASE(are_read_as_they_were_written)
{
	sample();
	Waymark__V1__LinkExtras *read = reopen();
	assert_non_null(read);
	assert_int_equal(read->n_rules, 2);
	assert_string_equal(read->rules[0]->name, "germans");
	assert_int_equal(read->rules[0]->n_conditions, 4);
	assert_string_equal(read->rules[0]->conditions[0]->values[1], "AT");
	assert_string_equal(read->rules[0]->conditions[1]->parameter, "ref");
	assert_string_equal(read->rules[0]->conditions[1]->values[1], "");
	assert_int_equal(read->rules[0]->conditions[2]->until_us, 2);
	assert_int_equal(read->rules[0]->conditions[3]->zone, 1);
	assert_int_equal(read->rules[1]->action, WAYMARK__V1__LINK_ACTION__LINK_ACTION_GONE);
	assert_string_equal(read->rules[1]->url, "");
	assert_int_equal(read->zones[0]->offset_s[1], 7200);
	assert_int_equal(read->variants[1]->weight, LINK_VARIANT_WEIGHT_MAX);
	assert_string_equal(read->winner, "b");
	assert_string_equal(read->preview_title, "Frühling");
	link_extras_free(read);
	link_extras_free(NULL);
}

TEST_CASE(name_their_features)
{
	sample();
	assert_int_equal(link_extras_features(&extras),
	                 LINK_FEATURES_NOT_CACHED | LINK_FEATURE_PREVIEW);
	extras_begin();
	assert_int_equal(link_extras_features(&extras), 0);
	extras.forward_path = true;
	assert_int_equal(link_extras_features(&extras), LINK_FEATURE_FORWARD);
}

TEST_CASE(are_refused_when_they_are_empty_cut_off_or_too_long)
{
	size_t len;
	sample();
	assert_int_equal(link_extras_pack(&extras, packed, &len), OK);
	assert_null(link_extras_open(packed, 0));
	assert_null(link_extras_open(packed, len - 1));
	assert_null(link_extras_open("\xff", 1));
	/* A field that nobody knows, of 8,192 bytes. */
	static uint8_t large[LINK_EXTRAS_BYTES_MAX + 4] = { 0xa2, 0x01, 0x80, 0x40 };
	assert_null(link_extras_open(large, sizeof(large)));
	large[2] = 0xfc;
	large[3] = 0x3f;
	link_extras_free(link_extras_open(large, LINK_EXTRAS_BYTES_MAX));

	extras_begin();
	char *url = mem_zero(LINK_URL_SIZE + 1);
	memset(url, 'u', LINK_URL_MAX);
	rule("too long", url);
	assert_int_equal(link_extras_check(&extras, NULL), OK);
	assert_int_equal(link_extras_pack(&extras, packed, &len), ERR_LIMIT);
	url[LINK_URL_MAX] = 'u';
	assert_int_equal(link_extras_check(&extras, NULL), ERR_INVALID);
	free(url);
}

static void expect_refused(const char *what)
{
	const char *problem = "nothing";
	if (link_extras_check(&extras, &problem) != ERR_INVALID)
		fail_msg("%s was accepted", what);
	if (strcmp(problem, what) != 0)
		fail_msg("%s is named %s", what, problem);
	sample();
	assert_int_equal(link_extras_check(&extras, NULL), OK);
}

TEST_CASE(are_not_opened_when_a_bound_is_broken)
{
	sample();
	extras.winner = (char *)"c";
	assert_null(reopen());
}

static char *repeat(const char *unit, size_t times, char *out)
{
	size_t len = strlen(unit);
	for (size_t i = 0; i < times; i++)
		memcpy(out + i * len, unit, len);
	out[times * len] = '\0';
	return out;
}

TEST_CASE(names_have_1_to_50_characters_and_are_there_once)
{
	char text[LINK_NAME_SIZE + 4];
	sample();
	extras.rules[0]->name = repeat("ü", LINK_NAME_CHARS_MAX, text);
	assert_int_equal(link_extras_check(&extras, NULL), OK);
	extras.rules[0]->name = repeat("ü", LINK_NAME_CHARS_MAX + 1, text);
	expect_refused("rule: name");
	extras.rules[1]->name = (char *)"";
	expect_refused("rule: name");
	extras.rules[1]->name = (char *)"a\tb";
	expect_refused("rule: name");
	extras.rules[1]->name = (char *)"a\xc2\x85";
	expect_refused("rule: name");
	extras.rules[1]->name = (char *)"a\xff";
	expect_refused("rule: name");
	extras.rules[1]->name = (char *)"germans";
	expect_refused("rules: a name twice");
	extras.variants[1]->name = (char *)"a";
	expect_refused("variants: a name twice");
	extras.variants[1]->name = (char *)"";
	expect_refused("variant: name");
}

TEST_CASE(rules_have_what_their_action_needs)
{
	sample();
	extras.rules[0]->fallback_url = (char *)"https://f.example/";
	assert_int_equal(link_extras_check(&extras, NULL), OK);
	extras.rules[0]->url = (char *)"";
	expect_refused("rule: action");
	extras.rules[0]->url = (char *)"https://a.example/\r\nX: 1";
	expect_refused("rule: action");
	extras.rules[0]->url = (char *)"https://a.example/ b";
	expect_refused("rule: action");
	extras.rules[0]->url = (char *)"https://a.example/\xc3\xbc";
	expect_refused("rule: action");
	extras.rules[1]->url = (char *)"https://a.example/";
	expect_refused("rule: action");
	extras.rules[1]->fallback_url = (char *)"https://a.example/";
	expect_refused("rule: action");
	extras.rules[1]->action = WAYMARK__V1__LINK_ACTION__LINK_ACTION_UNSPECIFIED;
	expect_refused("rule: action");
	extras.rules[0]->n_conditions = LINK_RULE_CONDITIONS_MAX + 1;
	expect_refused("rule: conditions");
	for (int i = 0; i < LINK_RULES_MAX - 1; i++)
		rule("r", NULL);
	expect_refused("rules");
}

static Waymark__V1__LinkCondition *condition(int index)
{
	return extras.rules[0]->conditions[index];
}

TEST_CASE(conditions_have_what_their_subject_needs)
{
	char text[2 * LINK_CONDITION_VALUE_CHARS_MAX];
	sample();
	condition(0)->n_values = 0;
	expect_refused("condition: values");
	condition(0)->values[1] = (char *)"";
	expect_refused("condition: values");
	condition(0)->values[1] = repeat("a", LINK_CONDITION_VALUE_CHARS_MAX + 1, text);
	expect_refused("condition: values");
	condition(0)->n_values = LINK_CONDITION_VALUES_MAX + 1;
	expect_refused("condition: values");
	condition(1)->values[0] = (char *)"a\nb";
	expect_refused("condition: values");
	condition(1)->parameter = (char *)"";
	expect_refused("condition: parameter");
	condition(2)->until_us = 1;
	expect_refused("condition: period");
	condition(2)->from_us = -1;
	expect_refused("condition: period");
	condition(2)->from_us = condition(2)->until_us = 0;
	expect_refused("condition: period");
	condition(3)->days = LINK_DAYS_ALL + 1;
	expect_refused("condition: week");
	condition(3)->from_minute = LINK_MINUTES_OF_DAY;
	expect_refused("condition: week");
	condition(3)->until_minute = LINK_MINUTES_OF_DAY;
	expect_refused("condition: week");
	condition(3)->zone = 2;
	expect_refused("condition: week");
	condition(3)->subject = WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_UNSPECIFIED;
	expect_refused("condition: subject");
	condition(3)->subject = (Waymark__V1__LinkSubject)99;
	expect_refused("condition: subject");
}

TEST_CASE(a_split_has_2_to_5_variants_with_weights_and_a_winner_among_them)
{
	sample();
	extras.n_variants = 1;
	expect_refused("variants");
	for (int i = 0; i < LINK_VARIANTS_MAX - 1; i++)
		variant("v", "https://v.example/", 1);
	expect_refused("variants");
	extras.variants[0]->weight = 0;
	expect_refused("variant: weight");
	extras.variants[0]->weight = LINK_VARIANT_WEIGHT_MAX + 1;
	expect_refused("variant: weight");
	extras.variants[0]->url = (char *)"";
	expect_refused("variant: url");
	extras.winner = (char *)"c";
	expect_refused("winner");
	extras.n_variants = 0;
	expect_refused("winner");
}

TEST_CASE(zones_have_offsets_from_ascending_times)
{
	sample();
	extras.zones[0]->name = (char *)"";
	expect_refused("zone");
	extras.zones[0]->n_since_s = extras.zones[0]->n_offset_s = 0;
	expect_refused("zone");
	extras.zones[0]->n_offset_s = 1;
	expect_refused("zone");
	extras.zones[0]->n_since_s = extras.zones[0]->n_offset_s = LINK_ZONE_TRANSITIONS_MAX + 1;
	expect_refused("zone");
	extras.zones[0]->since_s[1] = extras.zones[0]->since_s[0];
	expect_refused("zone");
	extras.zones[0]->offset_s[1] = 86401;
	expect_refused("zone");
	extras.n_zones = LINK_ZONES_MAX + 1;
	extras.n_rules = 0;
	expect_refused("zones");
}

TEST_CASE(the_rest_is_bounded_as_well)
{
	char text[4 * LINK_PREVIEW_DESCRIPTION_CHARS_MAX];
	sample();
	extras.max_visits = -1;
	expect_refused("max_visits");
	extras.max_visits = LINK_MAX_VISITS_MAX + 1;
	expect_refused("max_visits");
	extras.password_hash = (char *)"secret";
	expect_refused("password_hash");
	extras.preview_title = repeat("a", LINK_PREVIEW_TITLE_CHARS_MAX + 1, text);
	expect_refused("preview_title");
	extras.preview_description = repeat("a", LINK_PREVIEW_DESCRIPTION_CHARS_MAX + 1, text);
	expect_refused("preview_description");
	extras.preview_image_url = (char *)"https://a.example/ b";
	expect_refused("preview_image_url");
}

TEST_MAIN()
