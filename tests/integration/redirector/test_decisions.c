/* Links with extras, asked by visitors of several kinds. */
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/integration/redirector/link_visitor.h"
#include "tests/support/test.h"
#include "tests/unit/links/extras_fixture.h"

#define ACCEPTED "waymark_events_accepted_total"
static void build_places(const char *path)
{
	char program[] = "tests/support/build-city-database";
	char row[] = "203.0.113.0/24,DE,BE,Berlin";
	char *const argv[] = { program, (char *)(uintptr_t)path, row, NULL };
	pid_t pid = 0;
	int status = -1;
	assert_int_equal(posix_spawn(&pid, argv[0], NULL, NULL, argv, environ), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* --- rules --- */

TEST_CASE(sends_each_visitor_where_the_first_rule_that_holds_says)
{
	struct fixture *f = *state;
	extras_begin();
	when_query("utm_campaign", (const char *const[]){ "spring", NULL });
	rule("campaign", "https://campaign.example/");
	when(COUNTRY, "DE");
	rule("germany", "https://germany.example/");
	when(CITY, "Berlin");
	rule("city", "https://city.example/");
	when(DEVICE, "mobile");
	rule("phones", "https://phones.example/");
	when(LANGUAGE, "fr");
	rule("french", "https://french.example/");
	when(BROWSER, "Firefox");
	rule("firefox", "https://firefox.example/");
	when(REFERRER_HOST, ".news.example");
	rule("news", "https://news.example/");
	snprintf(f->config.geoip_db, sizeof(f->config.geoip_db), "%s/city.mmdb", f->journal_dir);
	build_places(f->config.geoip_db);
	fixture_add_link_with(f, "rules", &extras, "");
	fixture_start(f);
	assert_int_equal(fixture_metric(f, "waymark_redirector_places_known"), 1);
	link_visitor_assert_leads(f, "rules", FROM_BERLIN, "https://germany.example/");
	link_visitor_assert_leads(f, "rules", FROM_BERLIN IPHONE, "https://germany.example/");
	link_visitor_assert_leads(f, "rules", FROM_NOWHERE IPHONE, "https://phones.example/");
	link_visitor_assert_leads(f, "rules", "Accept-Language: en;q=0.3, fr-CH\r\n",
	                          "https://french.example/");
	link_visitor_assert_leads(f, "rules", FIREFOX, "https://firefox.example/");
	link_visitor_assert_leads(f, "rules", "Referer: https://www.news.example/a\r\n",
	                          "https://news.example/");
	link_visitor_assert_leads(f, "rules", "", "https://example.com/rules");
	link_visitor_get_below(f, "rules", "?a=1&utm_campaign=spring", FROM_BERLIN);
	fixture_assert_header(f, "Location", "https://campaign.example/");

	struct event_read events[8];
	const char *const rules[] = { "germany", "germany", "phones", "french",
		                      "firefox", "news",    "",       "campaign" };
	link_visitor_read_events(f, "rules", events, 8);
	for (size_t i = 0; i < 8; i++) {
		char host[64];
		snprintf(host, sizeof(host), "%s.%s", rules[i][0] ? rules[i] : "example",
		         rules[i][0] ? "example" : "com");
		assert_string_equal(events[i].event.rule, rules[i]);
		assert_string_equal(events[i].event.destination_host, host);
		assert_int_equal(events[i].event.status, 302);
	}
}

TEST_CASE(without_a_database_no_condition_on_a_place_holds)
{
	struct fixture *f = *state;
	extras_begin();
	when(COUNTRY, "DE");
	rule("germany", "https://germany.example/");
	fixture_add_link_with(f, "placeless", &extras, "");
	fixture_start(f);
	link_visitor_assert_leads(f, "placeless", FROM_BERLIN, "https://example.com/placeless");
	assert_int_equal(fixture_metric(f, "waymark_redirector_places_known"), 0);
	fixture_await_ready(f, true);
	assert_non_null(strstr(f->answer.body, "\"places_known\":0"));
}

/* The statistics count all of these as bots. */
TEST_CASE(knows_bots_heads_and_prefetches_as_the_statistics_do)
{
	struct fixture *f = *state;
	char target[64], slug[SLUG_SIZE];
	extras_begin();
	when(VISITOR, "human");
	rule("people", "https://people.example/");
	fixture_add_link_with(f, "bots", &extras, "");
	fixture_start(f);
	link_visitor_assert_leads(f, "bots", FIREFOX, "https://people.example/");
	link_visitor_assert_leads(f, "bots", FACEBOOK, "https://example.com/bots");
	link_visitor_assert_leads(f, "bots", FIREFOX "Sec-Purpose: prefetch\r\n",
	                          "https://example.com/bots");
	link_visitor_assert_leads(f, "bots", "", "https://example.com/bots");
	snprintf(target, sizeof(target), "HEAD /%s", fixture_slug(f, "bots", slug));
	fixture_request(f, target, FIREFOX);
	fixture_assert_header(f, "Location", "https://example.com/bots");
}

TEST_CASE(a_rule_holds_in_its_time_only)
{
	struct fixture *f = *state;
	extras_begin();
	int64_t from_us = clock_now_us(clock_system()) - CLOCK_US_PER_HOUR;
	when_period(from_us, from_us + 2 * CLOCK_US_PER_HOUR);
	rule("today", "https://today.example/");
	fixture_add_link_with(f, "time", &extras, "");
	fixture_start(f);
	link_visitor_assert_leads(f, "time", "", "https://today.example/");
	fixture_shift_clock(f, 2 * CLOCK_US_PER_HOUR);
	link_visitor_assert_leads(f, "time", "", "https://example.com/time");
}

TEST_CASE(a_rule_can_end_the_link_for_some_without_a_visit)
{
	struct fixture *f = *state;
	extras_begin();
	when(VISITOR, "bot");
	rule("no-bots", NULL);
	fixture_add_link_with(f, "ended", &extras, "");
	fixture_start(f);
	assert_int_equal(fixture_get_link(f, "ended", BROWSER GERMAN), 410);
	assert_non_null(strstr(f->answer.body, "<h1>Dieser Link ist beendet</h1>"));
	assert_null(strstr(f->answer.body, "no-bots"));
	assert_int_equal(fixture_metric(f, ACCEPTED), 0);
	link_visitor_assert_leads(f, "ended", FIREFOX, "https://example.com/ended");
}

/* Else a cache would give one visitor's answer to another. */
TEST_CASE(no_cache_keeps_what_may_differ)
{
	struct fixture *f = *state;
	extras_begin();
	when(DEVICE, "mobile");
	rule("phones", "https://phones.example/");
	fixture_add_link_with(f, "moved", &extras, "redirect_status = 301");
	fixture_add_link_with(f, "kept", &extras, "redirect_status = 308");
	extras_begin();
	extras.preview_title = (char[]){ "A card" };
	fixture_add_link_with(f, "cached", &extras, "redirect_status = 301");
	snprintf(f->config.redirect_cache_control, sizeof(f->config.redirect_cache_control),
	         "max-age=60");
	fixture_start(f);
	assert_int_equal(fixture_get_link(f, "moved", ""), 302);
	fixture_assert_header(f, "Cache-Control", "private, no-store");
	assert_int_equal(fixture_get_link(f, "kept", ""), 307);
	fixture_assert_header(f, "Cache-Control", "private, no-store");
	assert_int_equal(fixture_get_link(f, "cached", FIREFOX), 301);
	fixture_assert_header(f, "Cache-Control", "max-age=60");
}

TEST_CASE(no_header_says_what_the_link_has_for_others)
{
	struct fixture *f = *state;
	extras_begin();
	when(COUNTRY, "XX");
	rule("secret", "https://secret.example/");
	variant("hidden-a", "https://hidden.example/a", 1);
	variant("hidden-b", "https://shown.example/b", 1);
	extras.winner = (char[]){ "hidden-b" };
	fixture_add_link_with(f, "quiet", &extras, "");
	fixture_start(f);
	link_visitor_assert_leads(f, "quiet", BROWSER FIREFOX, "https://shown.example/b");
	assert_null(strstr(f->answer.head, "secret"));
	assert_null(strstr(f->answer.head, "hidden"));
}

/* --- split --- */

static void await_hash(struct fixture *f, const char *name)
{
	const char *without = "waymark_events_without_visitor_hash_total";
	int64_t until_ms = http_fixture_now_ms() + FIXTURE_TIMEOUT_MS;
	double before;
	do {
		before = fixture_metric(f, without);
		fixture_get_link(f, name, FROM_NOWHERE);
		assert_true(http_fixture_now_ms() < until_ms);
	} while (fixture_metric(f, without) > before);
}

TEST_CASE(a_visitor_keeps_its_variant_and_others_get_others)
{
	struct fixture *f = *state;
	size_t of_a = 0;
	extras_begin();
	variant("a", "https://a.example/", 1);
	variant("b", "https://b.example/", 1);
	fixture_add_link_with(f, "split", &extras, "");
	test_database_run(
		f->database,
		"INSERT INTO visitor_salts SELECT current_date + n, decode(repeat('ab', 32), "
		"'hex') FROM generate_series(-1, 1) n ON CONFLICT DO NOTHING");
	fixture_start(f);
	await_hash(f, "split");
	for (int visitor = 1; visitor <= 40; visitor++) {
		char headers[64], first[64], second[64];
		snprintf(headers, sizeof(headers), "X-Forwarded-For: 198.51.100.%d\r\n", visitor);
		fixture_get_link(f, "split", headers);
		http_fixture_header(&f->answer, "Location", first, sizeof(first));
		fixture_get_link(f, "split", headers);
		http_fixture_header(&f->answer, "Location", second, sizeof(second));
		assert_string_equal(first, second);
		of_a += strcmp(first, "https://a.example/") == 0;
	}
	assert_in_range(of_a, 5, 35);
	struct event_read event;
	link_visitor_read_events(f, "split", &event, 1);
	assert_int_equal(strlen(event.event.variant), 1);
	assert_int_equal(event.event.variant[0], event.event.destination_host[0]);
}

/* --- parameters and paths --- */

TEST_CASE(forwards_the_query_and_the_path_if_the_link_says_so)
{
	struct fixture *f = *state;
	extras_begin();
	extras.forward_query = true;
	fixture_add_link_with(f, "query", &extras, "original_url = 'https://example.com/a?b=1#c'");
	extras_begin();
	extras.forward_path = true;
	fixture_add_link_with(f, "path", &extras, "original_url = 'https://example.com/docs'");
	fixture_add_link(f, "plain");
	fixture_start(f);
	link_visitor_get_below(f, "query", "?b=2&qr=1&x=%C3%A4", "");
	fixture_assert_header(f, "Location", "https://example.com/a?b=2&x=%C3%A4#c");
	link_visitor_get_below(f, "path", "/a/b?x=1", "");
	fixture_assert_header(f, "Location", "https://example.com/docs/a/b");
	link_visitor_get_below(f, "path", "", "");
	fixture_assert_header(f, "Location", "https://example.com/docs");
	link_visitor_get_below(f, "path", "/../../etc", "");
	fixture_assert_header(f, "Location", "https://example.com/docs");
	link_visitor_get_below(f, "query", "/more", "");
	assert_int_equal(f->answer.status, 404);
	link_visitor_get_below(f, "plain", "/more", "");
	assert_int_equal(f->answer.status, 404);
	struct event_read event;
	link_visitor_read_events(f, "query", &event, 1);
	assert_true(event.event.is_scan);
}

/* --- blocked --- */

TEST_CASE(a_blocked_link_or_destination_is_451_without_a_visit)
{
	struct fixture *f = *state;
	extras_begin();
	when(DEVICE, "mobile");
	rule("bad", "https://bad.example/");
	test_database_run(f->database, "INSERT INTO blocked_hosts (host) VALUES ('bad.example')");
	fixture_add_link_with(f, "host", &extras, "");
	fixture_add_link_with(f, "blocked", &extras, "blocked_reason = 'A secret reason'");
	fixture_add_link(f, "simple");
	fixture_change_link(f, "simple", "blocked_reason = 'A secret reason'");
	fixture_start(f);
	fixture_await_metric(f, "waymark_host_rules", 1);
	assert_int_equal(fixture_get_link(f, "host", IPHONE), 451);
	link_visitor_assert_leads(f, "host", FIREFOX, "https://example.com/host");
	assert_int_equal(fixture_get_link(f, "blocked", BROWSER), 451);
	assert_null(strstr(f->answer.body, "secret"));
	assert_int_equal(fixture_get_link(f, "simple", BROWSER), 451);
	assert_int_equal(fixture_metric(f, ACCEPTED), 1);
	test_database_run(f->database, "DELETE FROM blocked_hosts");
}

/* --- names --- */

TEST_CASE(a_visit_by_an_alias_counts_for_the_link_and_names_the_alias)
{
	struct fixture *f = *state;
	struct link_entry entry = {
		.id = 1, .version = 1, .state = LINK_STATE_ACTIVE, .redirect_status = 302
	};
	struct link_cache_reservation place;
	fixture_slug(f, "old", entry.slug);
	fixture_slug(f, "new", entry.alias_of);
	snprintf(entry.original_url, sizeof(entry.original_url), "https://example.com/named");
	link_cache_reserve_for_change(f->link_cache, entry.slug, &place);
	assert_int_equal(link_cache_fill(f->link_cache, &place, &entry), OK);
	fixture_start(f);
	link_visitor_assert_leads(f, "old", "", "https://example.com/named");
	struct event_read event;
	link_visitor_read_events(f, "new", &event, 1);
	assert_string_equal(event.event.alias, entry.slug);
}

/* --- limit --- */

TEST_CASE(a_link_leads_as_many_people_as_it_may_and_says_so_to_the_next)
{
	struct fixture *f = *state;
	extras_begin();
	extras.max_visits = 2;
	fixture_add_link_with(f, "limited", &extras, "");
	fixture_add_link_with(f, "over", &extras, "expired_url = 'https://example.com/sold-out'");
	test_database_run(f->database,
	                  "INSERT INTO link_visit_limits (link_id, max_visits) SELECT id, 2 FROM "
	                  "links WHERE features = 4");
	fixture_start(f);
	link_visitor_assert_leads(f, "limited", FIREFOX, "https://example.com/limited");
	link_visitor_assert_leads(f, "limited", FACEBOOK, "https://example.com/limited");
	link_visitor_assert_leads(f, "limited", FIREFOX, "https://example.com/limited");
	assert_int_equal(fixture_get_link(f, "limited", FIREFOX BROWSER), 410);
	assert_non_null(strstr(f->answer.body, "<h1>This link has been used up</h1>"));
	assert_int_equal(fixture_get_link(f, "limited", FACEBOOK), 410);
	assert_int_equal(fixture_metric(f, ACCEPTED), 3);
	link_visitor_assert_leads(f, "over", FIREFOX, "https://example.com/over");
	link_visitor_assert_leads(f, "over", FIREFOX, "https://example.com/over");
	link_visitor_assert_leads(f, "over", FIREFOX, "https://example.com/sold-out");
}

TEST_MAIN(.group_set_up = fixture_group_set_up, .group_tear_down = fixture_group_tear_down,
          .set_up = fixture_set_up, .tear_down = fixture_tear_down)
