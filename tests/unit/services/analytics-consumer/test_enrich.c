#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"
#include "lib/visitors/visitor_facts.h"
#include "services/analytics-consumer/facts/enrich.h"
#include "tests/support/test.h"

#define DAY 20777

struct fixture {
	struct visitor_facts *visitor;
	struct enrich *enrich;
};

static int set_up(void **state)
{
	const struct visitor_facts_config config = {
		.geoip_db = "", .ua_regexes = "", .user_agent_cache = 100, .check_ms = 60000
	};
	struct fixture *f = mem_zero(sizeof(*f));
	*state = f;
	if (visitor_facts_open(&config, &f->visitor) != OK)
		return -1;
	f->enrich = enrich_new(f->visitor);
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	enrich_free(f->enrich);
	visitor_facts_close(f->visitor);
	free(f);
	return 0;
}

static struct enrich *enrich_of(void **state)
{
	const struct fixture *f = *state;
	return f->enrich;
}

static struct redirect_event click_of_a_human(void)
{
	struct redirect_event click = {
		.event_id = { 1, 2, 3 },
		.occurred_at_us = DAY * CLOCK_US_PER_DAY + 5 * CLOCK_US_PER_HOUR,
		.link_id = 42,
		.link_version = 7,
		.status = 302,
		.latency_us = 1500,
		.destination_host = "shop.example.com",
		.method = REDIRECT_METHOD_GET,
		.has_visitor_hash = true,
		.visitor_hash = { 9, 8, 7 },
		.slug = "abc",
		.client_network = "203.0.113.0/24",
		.user_agent =
			"Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 "
			"(KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1",
		.referrer = "https://News.Google.com/item?id=1",
		.accept_language = "de-AT,en;q=0.5",
		.query = "utm_source=letter&utm_medium=mail&utm_campaign=spring%20sale",
		.region = "eu-1",
		.rule = "Germans",
		.variant = "B",
		.alias = "old",
		.is_scan = true,
	};
	return click;
}

TEST_CASE(derives_every_fact_about_a_click)
{
	const struct redirect_event click = click_of_a_human();
	struct visit visit;
	memset(&visit, 0xff, sizeof(visit));
	enrich_click(enrich_of(state), &click, &visit);
	assert_memory_equal(visit.event.event_id, click.event_id, sizeof(click.event_id));
	assert_int_equal(visit.event.occurred_at_us, click.occurred_at_us);
	assert_int_equal(visit.event.link_id, 42);
	assert_string_equal(visit.event.slug, "abc");
	assert_string_equal(visit.event.country, "");
	assert_string_equal(visit.event.region, "");
	assert_string_equal(visit.event.city, "");
	assert_string_equal(visit.event.browser, "Mobile Safari");
	assert_string_equal(visit.event.browser_version, "17.5");
	assert_string_equal(visit.event.os, "iOS");
	assert_string_equal(visit.event.os_version, "17.5");
	assert_string_equal(visit.event.device, "mobile");
	assert_string_equal(visit.event.language, "de");
	assert_string_equal(visit.event.referrer_host, "news.google.com");
	assert_string_equal(visit.event.referrer_source, "Google News");
	assert_string_equal(visit.event.utm_source, "letter");
	assert_string_equal(visit.event.utm_medium, "mail");
	assert_string_equal(visit.event.utm_campaign, "spring sale");
	assert_false(visit.event.is_bot);
	assert_string_equal(visit.event.bot_reason, "");
	assert_false(visit.event.is_unique);
	assert_int_equal(visit.disposition, VISIT_NEW);
	assert_int_equal(visit.day, DAY);
	assert_int_equal(visit.event.latency_us, 1500);
	assert_int_equal(visit.event.status, 302);
	assert_string_equal(visit.event.destination_host, "shop.example.com");
	assert_true(visit.has_visitor_hash);
	assert_memory_equal(visit.visitor_hash, click.visitor_hash, sizeof(visit.visitor_hash));
	assert_string_equal(visit.client_network, "203.0.113.0/24");
	assert_string_equal(visit.served_from, "eu-1");
	assert_string_equal(visit.event.rule, "Germans");
	assert_string_equal(visit.event.variant, "B");
	assert_string_equal(visit.event.alias, "old");
	assert_string_equal(visit.event.scan, "scan");
}

/* The second time, everything comes from the caches. */
TEST_CASE(derives_the_same_facts_of_the_same_headers_again)
{
	struct redirect_event click = click_of_a_human();
	struct visit visits[2];
	for (size_t i = 0; i < 2; i++) {
		memset(&visits[i], 0, sizeof(visits[i]));
		enrich_click(enrich_of(state), &click, &visits[i]);
	}
	assert_memory_equal(&visits[0], &visits[1], sizeof(visits[0]));
	click.referrer[0] = '\0';
	click.accept_language[0] = '\0';
	enrich_click(enrich_of(state), &click, &visits[1]);
	assert_string_equal(visits[1].event.referrer_host, "");
	assert_string_equal(visits[1].event.referrer_source, "");
	assert_string_equal(visits[1].event.language, "");
}

TEST_CASE(flags_a_bot_with_its_reason)
{
	struct redirect_event click = click_of_a_human();
	struct visit visit;
	snprintf(click.user_agent, sizeof(click.user_agent), "curl/7.88.1");
	enrich_click(enrich_of(state), &click, &visit);
	assert_true(visit.event.is_bot);
	assert_string_equal(visit.event.bot_reason, "http_library");
	click = click_of_a_human();
	click.method = REDIRECT_METHOD_HEAD;
	enrich_click(enrich_of(state), &click, &visit);
	assert_true(visit.event.is_bot);
	assert_string_equal(visit.event.bot_reason, "head");
}

TEST_CASE(accepts_a_click_without_any_header)
{
	const struct redirect_event click = { .occurred_at_us = 1,
		                              .link_id = 1,
		                              .method = REDIRECT_METHOD_GET };
	struct visit visit;
	memset(&visit, 0xff, sizeof(visit));
	enrich_click(enrich_of(state), &click, &visit);
	assert_string_equal(visit.event.browser, "Other");
	assert_string_equal(visit.event.browser_version, "");
	assert_string_equal(visit.event.os_version, "");
	assert_string_equal(visit.event.bot_reason, "empty_agent");
	assert_string_equal(visit.event.referrer_host, "");
	assert_string_equal(visit.event.referrer_source, "");
	assert_string_equal(visit.event.rule, "");
	assert_string_equal(visit.event.variant, "");
	assert_string_equal(visit.event.alias, "");
	assert_string_equal(visit.event.scan, "");
	assert_false(visit.has_visitor_hash);
	assert_int_equal(visit.day, 0);
}

TEST_CASE(finds_utm_source_in_each_query)
{
	static const struct {
		const char *query, *source;
	} cases[] = {
		{ "", "" },
		{ "utm_source=news", "news" },
		{ "a=b&utm_source=news%20letter&utm_medium=mail", "news letter" },
		{ "utm_source=spring+sale", "spring sale" },
		{ "utm_source=first&utm_source=second", "first" },
		{ "utm_source=", "" },
		{ "utm_source", "" },
		{ "UTM_SOURCE=news", "" },
		{ "xutm_source=news", "" },
		{ "utm_source=%zz", "" },
		{ "utm_source=%00", "" },
		{ "utm_source=%ff", "" },
		{ "utm_source=a%0d%0ab", "a??b" },
		{ "utm_source=%e2%82%ac", "\xe2\x82\xac" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct redirect_event click = click_of_a_human();
		struct visit visit;
		snprintf(click.query, sizeof(click.query), "%s", cases[i].query);
		enrich_click(enrich_of(state), &click, &visit);
		assert_string_equal(visit.event.utm_source, cases[i].source);
	}
}

/* They separate the entries of a roll-up. */
TEST_CASE(removes_control_characters_from_names)
{
	struct redirect_event click = click_of_a_human();
	struct visit visit;
	snprintf(click.rule, sizeof(click.rule),
	         "a\x1e"
	         "1\x1f"
	         "b");
	snprintf(click.variant, sizeof(click.variant), "\x1f");
	enrich_click(enrich_of(state), &click, &visit);
	assert_string_equal(visit.event.rule, "a?1?b");
	assert_string_equal(visit.event.variant, "?");
}

TEST_CASE(cuts_a_long_campaign_at_a_character)
{
	struct redirect_event click = click_of_a_human();
	struct visit visit;
	char expected[sizeof(visit.event.utm_campaign)];
	/* The last character of the value needs one byte more than the field has. */
	memset(expected, 'x', sizeof(expected));
	expected[sizeof(expected) - 3] = '\0';
	snprintf(click.query, sizeof(click.query), "utm_campaign=%s%%e2%%82%%ac", expected);
	enrich_click(enrich_of(state), &click, &visit);
	assert_string_equal(visit.event.utm_campaign, expected);
}

TEST_MAIN(.group_set_up = set_up, .group_tear_down = tear_down)
