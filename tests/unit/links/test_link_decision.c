#include <stdio.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/links/link_decision.h"
#include "tests/support/test.h"
#include "tests/unit/links/extras_fixture.h"

#define ORIGINAL "https://example.com/"
#define THERE "https://there.example/"
#define LINK_ID 42
/* Monday 2026-03-30 10:00:00 UTC */
#define MONDAY_US INT64_C(1774864800000000)
#define HOUR_US INT64_C(3600000000)
#define DAY_US (24 * HOUR_US)
/* 2026-03-29 01:00:00 UTC: Berlin goes from +1 to +2. */
#define BERLIN_CHANGE_S INT64_C(1774746000)
#define MONDAY 1u
#define SUNDAY 64u

static struct link_visitor visitor;
static struct link_decision decision;

static int set_up(void **state)
{
	(void)state;
	extras_begin();
	visitor = (struct link_visitor){ .now_us = MONDAY_US };
	return 0;
}

static const char *decide(void)
{
	link_decision_take(&extras, LINK_ID, ORIGINAL, &visitor, &decision);
	return decision.url;
}

/* Whether the only condition, which was just added, holds. */
static bool holds(void)
{
	if (extras.n_rules == 0)
		rule("r", THERE);
	return strcmp(decide(), THERE) == 0;
}

#define VALUES(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* --- rules --- */

TEST_CASE(without_rules_everybody_goes_to_the_original_url)
{
	assert_string_equal(decide(), ORIGINAL);
	assert_int_equal(decision.kind, LINK_DECISION_REDIRECT);
	assert_string_equal(decision.rule, "");
	assert_string_equal(decision.variant, "");
	assert_string_equal(decision.fallback_url, "");
}

TEST_CASE(the_first_rule_that_holds_wins)
{
	when(COUNTRY, "FR");
	rule("french", "https://fr.example/");
	when(COUNTRY, "DE", "AT");
	rule("germans", "https://de.example/");
	rule("all", "https://all.example/");
	visitor.country = "AT";
	assert_string_equal(decide(), "https://de.example/");
	assert_string_equal(decision.rule, "germans");
	visitor.country = "US";
	assert_string_equal(decide(), "https://all.example/");
	assert_string_equal(decision.rule, "all");
}

TEST_CASE(all_conditions_of_a_rule_must_hold)
{
	when(COUNTRY, "DE");
	when(DEVICE, "mobile");
	visitor.country = "DE";
	visitor.device = "desktop";
	assert_false(holds());
	visitor.device = "mobile";
	assert_true(holds());
}

TEST_CASE(a_rule_can_end_the_link_for_some)
{
	when_period(MONDAY_US, 0);
	rule("over", NULL);
	variant("a", "https://a.example/", 1);
	variant("b", "https://b.example/", 1);
	assert_string_equal(decide(), "");
	assert_int_equal(decision.kind, LINK_DECISION_GONE);
	assert_string_equal(decision.rule, "over");
	assert_string_equal(decision.variant, "");
}

TEST_CASE(a_rule_can_say_as_usual_and_is_named)
{
	when(VISITOR, "bot");
	rule("bots", NULL)->action = WAYMARK__V1__LINK_ACTION__LINK_ACTION_AS_USUAL;
	rule("people", "https://people.example/");
	assert_string_equal(decide(), "https://people.example/");
	visitor.is_bot = true;
	assert_string_equal(decide(), ORIGINAL);
	assert_string_equal(decision.rule, "bots");
	variant("a", "https://a.example/", 1);
	variant("b", "https://b.example/", 1);
	extras.winner = (char *)"b";
	assert_string_equal(decide(), "https://b.example/");
	assert_string_equal(decision.rule, "bots");
	assert_string_equal(decision.variant, "b");
}

TEST_CASE(an_app_comes_with_where_to_go_without_it)
{
	when(OS, "Android", "iOS");
	rule("app", "shop://items/7")->fallback_url = (char *)"https://shop.example/items/7";
	visitor.os = "iOS";
	assert_string_equal(decide(), "shop://items/7");
	assert_string_equal(decision.fallback_url, "https://shop.example/items/7");
	visitor.os = "Windows";
	assert_string_equal(decide(), ORIGINAL);
	assert_string_equal(decision.fallback_url, "");
}

/* --- conditions --- */

TEST_CASE(names_are_compared_without_their_case)
{
	struct {
		Waymark__V1__LinkSubject subject;
		const char **fact;
		const char *value;
		const char *is;
		const char *is_not;
	} cases[] = {
		{ WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_COUNTRY, &visitor.country, "de", "DE",
		  "D" },
		{ WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_REGION, &visitor.region, "DE-BY", "DE-BY",
		  "DE" },
		{ WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_CITY, &visitor.city, "münchen", "München",
		  "Munich" },
		{ WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_DEVICE, &visitor.device, "tablet",
		  "tablet", "mobile" },
		{ WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_OS, &visitor.os, "mac os x", "Mac OS X",
		  "iOS" },
		{ WAYMARK__V1__LINK_SUBJECT__LINK_SUBJECT_BROWSER, &visitor.browser, "Firefox",
		  "Firefox", "Firefox iOS" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		set_up(NULL);
		when_any(cases[i].subject, VALUES("x", cases[i].value));
		assert_false(holds());
		*cases[i].fact = "";
		assert_false(holds());
		*cases[i].fact = cases[i].is_not;
		assert_false(holds());
		*cases[i].fact = cases[i].is;
		assert_true(holds());
	}
}

TEST_CASE(a_language_stands_for_its_regions_and_a_region_for_itself)
{
	when(LANGUAGE, "DE", "pt-br");
	assert_false(holds());
	const char *const held[] = { "de", "de-CH", "de-CH-1996", "pt-BR" };
	for (size_t i = 0; i < ARRAY_SIZE(held); i++) {
		visitor.language = held[i];
		assert_true(holds());
	}
	const char *const not_held[] = { "", "d", "den", "pt", "pt-PT", "pt-BRA" };
	for (size_t i = 0; i < ARRAY_SIZE(not_held); i++) {
		visitor.language = not_held[i];
		assert_false(holds());
	}
}

TEST_CASE(a_referrer_is_a_host_or_a_host_with_its_subdomains)
{
	when(REFERRER_HOST, "a.example", ".b.example");
	assert_false(holds());
	const char *const held[] = { "a.example", "A.Example", "b.example", "www.b.example" };
	for (size_t i = 0; i < ARRAY_SIZE(held); i++) {
		visitor.referrer_host = held[i];
		assert_true(holds());
	}
	const char *const not_held[] = { "", "www.a.example", "xb.example", "example",
		                         "b.example.org" };
	for (size_t i = 0; i < ARRAY_SIZE(not_held); i++) {
		visitor.referrer_host = not_held[i];
		assert_false(holds());
	}
}

static bool query_holds(const char *query)
{
	visitor.query = query;
	return holds();
}

TEST_CASE(a_query_parameter_is_present)
{
	when_query("a b", NULL);
	assert_false(query_holds(NULL));
	assert_false(query_holds(""));
	assert_true(query_holds("a+b"));
	assert_true(query_holds("x=1&a%20b=2"));
	assert_true(query_holds("&&%61%20b&"));
	assert_false(query_holds("A+b=1&a+bc=2&a=b&=a+b"));
	assert_false(query_holds("a%2+b=1&a%00b&%zz"));
}

TEST_CASE(a_query_parameter_has_one_of_the_values_in_any_of_its_pairs)
{
	when_query("v", VALUES("ü&=", "2"));
	assert_true(query_holds("v=1&v=2"));
	assert_true(query_holds("v=%c3%BC%26="));
	assert_false(query_holds("v"));
	assert_false(query_holds("v="));
	assert_false(query_holds("v=22&v=%32%3&v=2%00&v=%322"));
	assert_true(query_holds("v=%3&v=%32"));
}

TEST_CASE(a_query_parameter_without_a_value_has_the_empty_one)
{
	when_query("v", VALUES(""));
	assert_true(query_holds("v"));
	assert_true(query_holds("v="));
	assert_true(query_holds("x&v&y=1"));
	assert_false(query_holds("v=1"));
	assert_false(query_holds("w"));
}

TEST_CASE(people_and_bots_are_told_apart)
{
	when(VISITOR, "human");
	assert_true(holds());
	visitor.is_bot = true;
	assert_false(holds());
}

TEST_CASE(a_period_begins_at_its_start_and_ends_before_its_end)
{
	when_period(MONDAY_US, MONDAY_US + 10);
	visitor.now_us = MONDAY_US - 1;
	assert_false(holds());
	visitor.now_us = MONDAY_US;
	assert_true(holds());
	visitor.now_us = MONDAY_US + 9;
	assert_true(holds());
	visitor.now_us = MONDAY_US + 10;
	assert_false(holds());
}

TEST_CASE(a_period_may_be_open_at_either_end)
{
	when_period(0, MONDAY_US);
	assert_false(holds());
	visitor.now_us = 1;
	assert_true(holds());
	set_up(NULL);
	when_period(MONDAY_US, 0);
	visitor.now_us = INT64_MAX;
	assert_true(holds());
}

static bool holds_at(int64_t now_us)
{
	visitor.now_us = now_us;
	return holds();
}

TEST_CASE(a_day_of_the_week_is_that_of_the_zone)
{
	when_week(MONDAY, 0, 0, zone("Pacific/Kiritimati", 14 * 3600, INT64_MAX, 0));
	/* There, Monday is from Sunday 10:00 to Monday 10:00 UTC. */
	assert_false(holds_at(MONDAY_US - DAY_US - 1));
	assert_true(holds_at(MONDAY_US - DAY_US));
	assert_true(holds_at(MONDAY_US - 1));
	assert_false(holds_at(MONDAY_US));
}

TEST_CASE(a_time_of_day_begins_at_its_minute_and_ends_before_the_other)
{
	when_week(0, 600, 601, 0);
	assert_false(holds_at(MONDAY_US - 1));
	assert_true(holds_at(MONDAY_US));
	assert_true(holds_at(MONDAY_US + 59999999));
	assert_false(holds_at(MONDAY_US + 60000000));
	assert_true(holds_at(MONDAY_US - 1000 * DAY_US * 30));
}

TEST_CASE(a_time_past_midnight_belongs_to_the_day_on_which_it_began)
{
	when_week(SUNDAY, 22 * 60, 6 * 60, 0);
	int64_t monday = MONDAY_US - 10 * HOUR_US;
	assert_false(holds_at(monday - DAY_US + 5 * HOUR_US)); /* Sunday 05:00, from Saturday */
	assert_false(holds_at(monday - 2 * HOUR_US - 1));
	assert_true(holds_at(monday - 2 * HOUR_US));
	assert_true(holds_at(monday + 6 * HOUR_US - 1));
	assert_false(holds_at(monday + 6 * HOUR_US));
	assert_false(holds_at(monday + 23 * HOUR_US));
}

TEST_CASE(a_time_until_midnight_ends_there)
{
	when_week(MONDAY, 22 * 60, 0, 0);
	int64_t tuesday = MONDAY_US + 14 * HOUR_US;
	assert_false(holds_at(tuesday - 2 * HOUR_US - 1));
	assert_true(holds_at(tuesday - 1));
	assert_false(holds_at(tuesday));
}

TEST_CASE(a_time_that_ends_when_it_begins_lasts_a_day)
{
	when_week(MONDAY, 600, 600, 0);
	assert_false(holds_at(MONDAY_US - 1));
	assert_true(holds_at(MONDAY_US));
	assert_true(holds_at(MONDAY_US + DAY_US - 1));
	assert_false(holds_at(MONDAY_US + DAY_US));
}

TEST_CASE(a_zone_changes_its_offset_in_time)
{
	zone("Asia/Kolkata", 19800, INT64_MAX, 0);
	when_week(0, 180, 240, zone("Europe/Berlin", 3600, BERLIN_CHANGE_S, 7200));
	int64_t change_us = BERLIN_CHANGE_S * 1000000;
	assert_false(holds_at(change_us - 1)); /* 01:59:59 */
	assert_true(holds_at(change_us));      /* 03:00 */
	assert_true(holds_at(change_us + HOUR_US - 1));
	assert_false(holds_at(change_us + HOUR_US));
	/* Before the first offset it is the first one. */
	assert_true(holds_at((INT64_C(-5000054400) + 2 * 3600) * 1000000));
}

/* --- what must be known --- */

TEST_CASE(only_what_the_rules_ask_about_must_be_known)
{
	when(LANGUAGE, "de");
	when(REFERRER_HOST, "a.example");
	when_query("a", NULL);
	when_period(1, 2);
	rule("cheap", THERE);
	assert_int_equal(link_decision_facts(&extras), 0);
	when(CITY, "Berlin");
	rule("place", THERE);
	assert_int_equal(link_decision_facts(&extras), LINK_FACT_PLACE);
	when(VISITOR, "human");
	rule("agent", THERE);
	assert_int_equal(link_decision_facts(&extras), LINK_FACT_PLACE | LINK_FACT_AGENT);
	set_up(NULL);
	variant("a", THERE, 1);
	variant("b", THERE, 1);
	assert_int_equal(link_decision_facts(&extras), LINK_FACT_VISITOR);
	extras.winner = (char *)"a";
	assert_int_equal(link_decision_facts(&extras), 0);
}

/* --- what Shlink and Dub describe (docs/links-that-decide.md) --- */

TEST_CASE(systems_languages_and_parameters_decide_in_the_order_of_the_rules)
{
	when(OS, "Android");
	when(LANGUAGE, "en-US");
	rule("android-en-us", "https://example.com/android-en-us");
	when(LANGUAGE, "fr");
	rule("fr", "https://example.com/fr");
	when_query("foo", VALUES("bar"));
	when(LANGUAGE, "en");
	rule("foo-en", "https://example.com/foo-en");
	when(DEVICE, "desktop");
	rule("desktop", "https://example.com/desktop");
	visitor.os = "Android";
	visitor.device = "mobile";
	visitor.language = "en-US";
	assert_string_equal(decide(), "https://example.com/android-en-us");
	visitor.language = "fr-CA";
	assert_string_equal(decide(), "https://example.com/fr");
	visitor.language = "en-GB";
	visitor.query = "foo=bar";
	assert_string_equal(decide(), "https://example.com/foo-en");
	visitor.query = "foo=baz";
	assert_string_equal(decide(), ORIGINAL);
	visitor.device = "desktop";
	assert_string_equal(decide(), "https://example.com/desktop");
}

TEST_CASE(devices_come_before_places_and_places_before_the_split)
{
	when(OS, "iOS");
	rule("ios", "https://apps.example/");
	when(COUNTRY, "DE", "AT");
	rule("dach", "https://de.example/");
	variant("a", "https://a.example/", 1);
	variant("b", "https://b.example/", 1);
	extras.winner = (char *)"a";
	visitor.os = "iOS";
	visitor.country = "DE";
	assert_string_equal(decide(), "https://apps.example/");
	assert_string_equal(decision.variant, "");
	visitor.os = "Windows";
	assert_string_equal(decide(), "https://de.example/");
	visitor.country = "US";
	assert_string_equal(decide(), "https://a.example/");
	assert_string_equal(decision.variant, "a");
}

TEST_CASE(a_rule_with_a_date_ends_a_split)
{
	when_period(MONDAY_US, 0);
	rule("completed", "https://b.example/");
	variant("a", "https://a.example/", 1);
	variant("b", "https://b.example/", 1);
	visitor.now_us = MONDAY_US - 1;
	decide();
	assert_string_not_equal(decision.variant, "");
	visitor.now_us = MONDAY_US;
	assert_string_equal(decide(), "https://b.example/");
	assert_string_equal(decision.rule, "completed");
}

TEST_MAIN(.set_up = set_up)
