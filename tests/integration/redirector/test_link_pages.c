/* Pages in place of redirects: of apps, cards and previews, and the documents of apps. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/integration/redirector/link_visitor.h"
#include "tests/support/test.h"
#include "tests/unit/links/extras_fixture.h"

#define ACCEPTED "waymark_events_accepted_total"
#define HASH "$2b$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy"

/* --- apps --- */

TEST_CASE(opens_an_app_or_its_fallback)
{
	struct fixture *f = *state;
	extras_begin();
	when(DEVICE, "mobile");
	rule("app", "shop://open/7")->fallback_url = (char[]){ "https://shop.example/?a=1&b=2" };
	fixture_add_link_with(f, "app", &extras, "");
	fixture_start(f);
	link_visitor_assert_leads(f, "app", ANDROID,
	                          "intent://open/7#Intent;scheme=shop;S.browser_fallback_url="
	                          "https%3A%2F%2Fshop.example%2F%3Fa%3D1%26b%3D2;end");
	assert_int_equal(fixture_get_link(f, "app", IPHONE BROWSER GERMAN), 200);
	assert_non_null(strstr(f->answer.body,
	                       "<meta http-equiv=\"refresh\" content=\"0; url=shop://open/7\">"));
	assert_non_null(
		strstr(f->answer.body,
	               "<a class=\"button second\" href=\"https://shop.example/?a=1&amp;b=2\">Im "
	               "Browser weiter</a>"));
	assert_null(strstr(f->answer.body, "<script"));
	fixture_assert_header(f, "Cache-Control", "no-store");
	link_visitor_assert_leads(f, "app", FIREFOX, "https://example.com/app");

	struct event_read events[3];
	link_visitor_read_events(f, "app", events, 3);
	assert_int_equal(events[0].event.status, 302);
	assert_int_equal(events[1].event.status, 200);
	assert_string_equal(events[1].event.rule, "app");
	assert_string_equal(events[2].event.rule, "");
}

/* --- cards and previews --- */

TEST_CASE(programs_that_show_previews_get_the_links_card)
{
	struct fixture *f = *state;
	extras_begin();
	extras.preview_title = (char[]){ "Tea & <cake>" };
	extras.preview_description = (char[]){ "At five" };
	extras.preview_image_url = (char[]){ "https://example.com/tea.png" };
	fixture_add_link_with(f, "card", &extras, "");
	fixture_start(f);
	assert_int_equal(fixture_get_link(f, "card", FACEBOOK), 200);
	assert_non_null(strstr(f->answer.body,
	                       "<meta property=\"og:title\" content=\"Tea &amp; &lt;cake&gt;\">"));
	assert_non_null(
		strstr(f->answer.body,
	               "<meta property=\"og:image\" content=\"https://example.com/tea.png\">"));
	link_visitor_assert_leads(f, "card", FIREFOX, "https://example.com/card");
	struct event_read events[2];
	link_visitor_read_events(f, "card", events, 2);
	assert_int_equal(events[0].event.status, 200);
	assert_int_equal(events[1].event.status, 302);
}

TEST_CASE(a_plus_asks_where_a_link_leads_and_counts_nothing)
{
	struct fixture *f = *state;
	snprintf(f->config.dashboard_url, sizeof(f->config.dashboard_url),
	         "https://api.sho.rt/app/");
	fixture_add_link(f, "open");
	fixture_change_link(f, "open", "title = 'A <b>', expires_at = '2999-01-02T03:04:05Z'");
	extras_begin();
	when(DEVICE, "mobile");
	rule("phones", "https://phones.example/");
	fixture_add_link_with(f, "ruled", &extras, "title = 'Shown'");
	extras_begin();
	extras.password_hash = (char[]){ HASH };
	fixture_add_link_with(f, "locked", &extras, "title = 'Hidden'");
	fixture_add_link(f, "off");
	fixture_change_link(f, "off", "state = 'DISABLED'");
	fixture_start(f);
	link_visitor_get_below(f, "open", "+", BROWSER);
	assert_int_equal(f->answer.status, 200);
	assert_non_null(strstr(f->answer.body, "<dd>example.com</dd>"));
	assert_non_null(strstr(f->answer.body, "<dd>A &lt;b&gt;</dd>"));
	assert_non_null(strstr(f->answer.body, "<dd>2 January 2999, 03:04 UTC</dd>"));
	assert_non_null(strstr(f->answer.body, "https://api.sho.rt/report?link=https://sho.rt/"));
	fixture_assert_header(f, "Cache-Control", "no-store");
	link_visitor_get_below(f, "ruled", "+", BROWSER GERMAN);
	assert_null(strstr(f->answer.body, "example.com"));
	assert_null(strstr(f->answer.body, "phones"));
	assert_non_null(strstr(f->answer.body, "<dd>Shown</dd>"));
	assert_non_null(strstr(f->answer.body, "Das h\xc3\xa4ngt davon ab"));
	assert_non_null(strstr(f->answer.body, "Wohin dieser Link f\xc3\xbchrt"));
	link_visitor_get_below(f, "locked", "+", BROWSER);
	assert_int_equal(f->answer.status, 200);
	assert_null(strstr(f->answer.body, "example.com"));
	assert_null(strstr(f->answer.body, "Hidden"));
	assert_non_null(strstr(f->answer.body, "Only for those who know the password"));
	link_visitor_get_below(f, "off", "+", BROWSER);
	assert_int_equal(f->answer.status, 404);
	link_visitor_get_below(f, "unknown", "+", BROWSER);
	assert_int_equal(f->answer.status, 404);
	assert_int_equal(fixture_metric(f, ACCEPTED), 0);
}

/* --- documents of apps --- */

TEST_CASE(serves_the_documents_of_apps_and_follows_their_changes)
{
	struct fixture *f = *state;
	f->config.hosts_check_ms = 100;
	test_database_run(
		f->database,
		"INSERT INTO app_documents (name, body) VALUES ('assetlinks.json', '[1]')");
	fixture_start(f);
	int64_t until_ms = http_fixture_now_ms() + FIXTURE_TIMEOUT_MS;
	while (fixture_request(f, "GET /.well-known/assetlinks.json", "") != 200)
		assert_true(http_fixture_now_ms() < until_ms);
	assert_string_equal(f->answer.body, "[1]");
	fixture_assert_header(f, "Content-Type", "application/json");
	assert_int_equal(fixture_request(f, "POST /.well-known/assetlinks.json", ""), 404);
	assert_int_equal(fixture_request(f, "GET /.well-known/apple-app-site-association", ""),
	                 404);
	assert_int_equal(fixture_request(f, "GET /.well-known/security.txt", ""), 404);
	test_database_run(f->database, "DELETE FROM app_documents");
	while (fixture_request(f, "GET /.well-known/assetlinks.json", "") != 404)
		assert_true(http_fixture_now_ms() < until_ms);
	assert_int_equal(fixture_metric(f, ACCEPTED), 0);
}

TEST_MAIN(.group_set_up = fixture_group_set_up, .group_tear_down = fixture_group_tear_down,
          .set_up = fixture_set_up, .tear_down = fixture_tear_down)
