#include <stdint.h>
#include <string.h>

#include "lib/visitors/referrer_source.h"
#include "tests/support/test.h"

struct host_case {
	const char *host, *source;
};

static void assert_sources(const struct host_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++)
		assert_string_equal(referrer_source_of(cases[i].host), cases[i].source);
}

TEST_CASE(names_the_site_of_a_host)
{
	static const struct host_case cases[] = {
		{ "facebook.com", "Facebook" },
		{ "www.facebook.com", "Facebook" },
		{ "lm.facebook.com", "Facebook" },
		{ "t.co", "X" },
		{ "x.com", "X" },
		{ "news.ycombinator.com", "Hacker News" },
		{ "old.reddit.com", "Reddit" },
		{ "chatgpt.com", "ChatGPT" },
		{ "duckduckgo.com", "DuckDuckGo" },
		{ "de.wikipedia.org", "Wikipedia" },
		{ "1.1.1.1", "" },
		{ "zoom.us", "Zoom" },
		{ "ai.perplexity.app.android", "Perplexity" },
		{ "youtu.be", "YouTube" },
	};
	assert_sources(cases, sizeof(cases) / sizeof(cases[0]));
}

TEST_CASE(names_what_mail_and_advertising_hosts_belong_to)
{
	static const struct host_case cases[] = {
		{ "deref-gmx.net", "GMX" },
		{ "deref-web.de", "WEB.DE" },
		{ "deref-mail.com", "mail.com" },
		{ "googleads.g.doubleclick.net", "Google Ads" },
		{ "www.googleadservices.com", "Google Ads" },
		{ "tpc.googlesyndication.com", "Google Ads" },
		{ "adservice.google.com", "Google Ads" },
		{ "ads.google.com", "Google Ads" },
		{ "www-example-com.cdn.ampproject.org", "Google" },
		{ "mail.libero.it", "Libero" },
		{ "webmail.freenet.de", "freenet" },
		{ "mail.qq.com", "QQ Mail" },
		{ "t.umblr.com", "Tumblr" },
		{ "search.goo.ne.jp", "goo" },
		{ "www.livejournal.com", "LiveJournal" },
	};
	assert_sources(cases, sizeof(cases) / sizeof(cases[0]));
}

TEST_CASE(prefers_the_more_specific_host)
{
	static const struct host_case cases[] = {
		{ "google.com", "Google" },
		{ "news.google.com", "Google News" },
		{ "mail.google.com", "Gmail" },
		{ "outlook.office.com", "Outlook" },
		{ "www.office.com", "Microsoft 365" },
		{ "search.brave.com", "Brave Search" },
		{ "brave.com", "" },
	};
	assert_sources(cases, sizeof(cases) / sizeof(cases[0]));
}

TEST_CASE(knows_apps)
{
	static const struct host_case cases[] = {
		{ "com.google.android.gm", "Gmail" },
		{ "com.google.android.googlequicksearchbox", "Google" },
		{ "com.facebook.katana", "Facebook" },
		{ "org.telegram.messenger", "Telegram" },
		{ "com.pinterest", "Pinterest" },
		{ "com.pinterest.twa", "Pinterest" },
		{ "com.tencent.mobileqq", "QQ" },
		{ "com.amazon.mshop.android.shopping", "Amazon" },
		{ "com.facebook.mlite", "Messenger" },
		{ "ru.ok.android", "Odnoklassniki" },
		{ "app.fedilab.android", "Mastodon" },
		{ "com.ideashower.readitlater.pro", "Pocket" },
		{ "com.google.android.apps.tachyon", "Google Meet" },
		{ "com.example.app", "" },
		{ "com.pinterest.evil.example", "" },
	};
	assert_sources(cases, sizeof(cases) / sizeof(cases[0]));
}

TEST_CASE(knows_brands_in_every_country)
{
	static const struct host_case cases[] = {
		{ "www.google.de", "Google" },       { "www.google.co.uk", "Google" },
		{ "www.google.com.br", "Google" },   { "google.at", "Google" },
		{ "search.yahoo.co.jp", "Yahoo" },   { "yandex.com.tr", "Yandex" },
		{ "www.amazon.fr", "Amazon" },       { "amazon.com", "Amazon" },
		{ "www.pinterest.ca", "Pinterest" },
	};
	assert_sources(cases, sizeof(cases) / sizeof(cases[0]));
}

TEST_CASE(has_a_sorted_table_of_names_that_an_event_can_hold)
{
	for (size_t i = 0; i < referrer_source_table_size; i++) {
		const struct referrer_source_pair *pair = &referrer_source_table[i];
		assert_in_range(strlen(pair->name), 1, 31);
		if (i > 0 && strcmp(pair[-1].host, pair->host) >= 0)
			fail_msg("%s is there twice, or not in order", pair->host);
	}
}

TEST_CASE(ignores_similar_hosts)
{
	static const struct host_case cases[] = {
		{ "", "" },
		{ ".", "" },
		{ "com", "" },
		{ "google", "" },
		{ "google.", "" },
		{ "google.evil.com", "" },
		{ "google.com.evil.org", "" },
		{ "google.info", "" },
		{ "notgoogle.com", "" },
		{ "facebook.com.evil.org", "" },
		{ "notfacebook.com", "" },
		{ "facebook.co", "" },
		{ "netflix.com", "" },
		{ "mit.co", "" },
		{ "google.c0", "" },
		{ "goo", "" },
		{ "goog.le", "" },
	};
	assert_sources(cases, sizeof(cases) / sizeof(cases[0]));
}

TEST_MAIN()
