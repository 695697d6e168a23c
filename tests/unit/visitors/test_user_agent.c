#include <stdint.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib/clicks/redirect_event.h"
#include "lib/visitors/user_agent.h"
#include "tests/support/test.h"

struct agent_case {
	const char *text, *browser, *os;
	enum user_agent_device device;
	const char *bot_reason;
};

static const struct agent_case cases[] = {
	{ "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
	  "Chrome", "Windows", USER_AGENT_DESKTOP, "" },
	{ "Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0", "Firefox",
	  "Linux", USER_AGENT_DESKTOP, "" },
	{ "Mozilla/5.0 (Macintosh; Intel Mac OS X 14_5) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Safari/605.1.15",
	  "Safari", "Mac OS X", USER_AGENT_DESKTOP, "" },
	{ "Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
	  "Chrome", "Chrome OS", USER_AGENT_DESKTOP, "" },
	{ "Mozilla/5.0 (compatible; MSIE 10.0; Windows NT 6.2; Trident/6.0; Touch; Tablet PC 2.0)",
	  "IE", "Windows", USER_AGENT_DESKTOP, "" },
	{ "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 "
	  "Mobile/15E148 Safari/604.1",
	  "Mobile Safari", "iOS", USER_AGENT_MOBILE, "" },
	{ "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36",
	  "Chrome Mobile", "Android", USER_AGENT_MOBILE, "" },
	{ "Opera/9.80 (J2ME/MIDP; Opera Mini/9.80 (S60; SymbOS; U; en) Presto/2.5.25 Version/10.54",
	  "Opera Mini", "Symbian OS", USER_AGENT_MOBILE, "" },
	{ "Mozilla/5.0 (iPad; CPU OS 12_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/12.1.2 "
	  "Mobile/15E148 Safari/604.1",
	  "Mobile Safari", "iOS", USER_AGENT_TABLET, "" },
	{ "Mozilla/5.0 (Linux; Android 13; SM-T870) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
	  "Chrome", "Android", USER_AGENT_TABLET, "" },
	{ "Mozilla/5.0 (Android 13; Tablet; rv:127.0) Gecko/127.0 Firefox/127.0", "Firefox Mobile",
	  "Android", USER_AGENT_TABLET, "" },
	{ "Mozilla/5.0 (SMART-TV; Linux; Tizen 6.0) AppleWebKit/538.1 (KHTML, like Gecko) Version/6.0 TV Safari/538.1",
	  "Safari", "Tizen", USER_AGENT_OTHER, "" },
	{ "Mozilla/5.0 (Windows NT 10.0; Win64; x64; Xbox; Xbox One) AppleWebKit/537.36 (KHTML, like Gecko) "
	  "Chrome/44.0.2403.157 Safari/537.36 Edge/13.10553",
	  "Edge", "Windows", USER_AGENT_OTHER, "" },
	{ "Mozilla/5.0 (Linux; Android 9; AFTKA Build/PS7633; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 "
	  "Chrome/126.0.0.0 Safari/537.36",
	  "Chrome Mobile WebView", "Android", USER_AGENT_OTHER, "" },
	{ "Mozilla/5.0 (Linux; Android 11; TV box) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
	  "Chrome", "Android", USER_AGENT_OTHER, "" },
	{ "Mozilla/5.0 (Linux; Android 12; Onn. 4K Streaming Box) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 "
	  "Safari/537.36",
	  "Chrome", "Android", USER_AGENT_OTHER, "" },
	{ "Mozilla/5.0 (Linux; Android 6.0.1; TF-LED32S59T2S) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 "
	  "Safari/537.36",
	  "Chrome", "Android", USER_AGENT_OTHER, "" },
	{ "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36 SteamDeck",
	  "Chrome", "Linux", USER_AGENT_OTHER, "" },
	{ "Mozilla/5.0 (Linux; Android 13; Sketchbox 4) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
	  "Chrome", "Android", USER_AGENT_TABLET, "" },
	{ "Mozilla/5.0 (Linux; Android 14; SM-S918B; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 "
	  "Chrome/131.0.6778.200 Mobile Safari/537.36 musical_ly_2023805030 JsSdk/1.0 AppName/musical_ly "
	  "app_version/38.5.3 ByteLocale/de Region/DE BytedanceWebview/d8a21c6",
	  "TikTok", "Android", USER_AGENT_MOBILE, "" },
	{ "Mozilla/5.0 (Linux; Android 12; SM-A127F; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 "
	  "Chrome/131.0 Mobile Safari/537.36 trill_380503 JsSdk/1.0 AppName/trill app_version/38.5.3 "
	  "BytedanceWebview/d8a21c6",
	  "TikTok", "Android", USER_AGENT_MOBILE, "" },
	{ "Mozilla/5.0 (Linux; Android 10; HarmonyOS; ELS-AN00; HMSCore 6.13.0.302) AppleWebKit/537.36 (KHTML, like "
	  "Gecko) Chrome/99.0.4844.88 HuaweiBrowser/14.0.5.302 Mobile Safari/537.36",
	  "Huawei Browser", "HarmonyOS", USER_AGENT_MOBILE, "" },
	{ "Mozilla/5.0 (Phone; OpenHarmony 5.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/114.0.0.0 Safari/537.36 "
	  "ArkWeb/4.1.6.1 Mobile HuaweiBrowser/5.0.4.300",
	  "Huawei Browser", "HarmonyOS", USER_AGENT_MOBILE, "" },
	{ "Mozilla/5.0 (Tablet; OpenHarmony 5.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/114.0.0.0 Safari/537.36 "
	  "ArkWeb/4.1.6.1 HuaweiBrowser/5.1.3.301",
	  "Huawei Browser", "HarmonyOS", USER_AGENT_TABLET, "" },
	{ "Mozilla/5.0 (PC; OpenHarmony 6.1; Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/132.0.0.0 "
	  "Safari/537.36",
	  "Chrome", "HarmonyOS", USER_AGENT_DESKTOP, "" },
	{ "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 "
	  "[LinkedInApp]/9.30.1",
	  "LinkedIn", "iOS", USER_AGENT_MOBILE, "" },
	{ "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/22B83 "
	  "Barcelona 350.0.0.28.109 (iPhone15,2; iOS 18_1; de_DE)",
	  "Threads", "iOS", USER_AGENT_MOBILE, "" },
	{ "Mozilla/5.0 (Linux; Android 13; SM-S908N; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 "
	  "Chrome/120.0.6099.193 Mobile Safari/537.36;KAKAOTALK 2610560",
	  "KakaoTalk", "Android", USER_AGENT_MOBILE, "" },
	{ "Mozilla/5.0 (Linux; Android 14; SM-A156B) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 "
	  "Mobile Safari/537.36 GSA/15.48",
	  "Google", "Android", USER_AGENT_MOBILE, "" },
	{ "Mozilla/5.0 (Linux; Android 14; 23078PND5G; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 "
	  "Chrome/124.0 Mobile Safari/537.36 MicroMessenger/8.0.49.2600(0x28003137) NetType/WIFI",
	  "WeChat", "Android", USER_AGENT_MOBILE, "" },
	{ "Mozilla/5.0 (Linux; Android 14; PHK110) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 "
	  "Chrome/115.0.5790.168 Mobile Safari/537.36 HeyTapBrowser/40.9.1.1",
	  "HeyTap Browser", "Android", USER_AGENT_MOBILE, "" },
	{ "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", "Googlebot",
	  "Other", USER_AGENT_BOT, "crawler" },
	{ "Dalvik/2.1.0 (Linux; U; Android 9; SM-G960F Build/PPR1.180610.011)", "Android",
	  "Android", USER_AGENT_MOBILE, "" },
	{ "curl/7.88.1", "curl", "Other", USER_AGENT_OTHER, "http_library" },
	{ "", "Other", "Other", USER_AGENT_OTHER, "empty_agent" },
	{ "\xe6\xb5\x8f\xe8\xa7\x88\xe5\x99\xa8", "Other", "Other", USER_AGENT_OTHER,
	  "http_library" },
};

static void assert_case(struct user_agent_parser *parser, const struct agent_case *c)
{
	struct user_agent found;
	user_agent_parse(parser, c->text, &found);
	assert_string_equal(found.browser, c->browser);
	assert_string_equal(found.os, c->os);
	assert_string_equal(user_agent_device_name(found.device),
	                    user_agent_device_name(c->device));
	assert_string_equal(found.bot_reason, c->bot_reason);
}

TEST_CASE(finds_browser_system_and_device)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_case(*state, &cases[i]);
}

TEST_CASE(finds_the_same_in_the_cache)
{
	/* The cache is smaller than the list, so some results are cached and some are not. */
	for (int round = 0; round < 3; round++)
		finds_browser_system_and_device(state);
}

TEST_CASE(finds_versions)
{
	static const struct {
		const char *text, *browser_version, *os_version;
	} versions[] = {
		{ "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
		  "Chrome/126.0.6478.61 Safari/537.36",
		  "126.0.6478", "" },
		{ "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
		  "Version/17.5 Mobile/15E148 Safari/604.1",
		  "17.5", "17.5.1" },
		{ "Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0", "127.0",
		  "" },
		{ "unknown agent", "", "" },
	};
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		struct user_agent found;
		user_agent_parse(*state, versions[i].text, &found);
		assert_string_equal(found.browser_version, versions[i].browser_version);
		assert_string_equal(found.os_version, versions[i].os_version);
	}
}

/* WebKit says "iPhone OS 18_6" on every iOS from 26 on. */
TEST_CASE(finds_the_version_of_ios_where_it_is_true)
{
	static const struct {
		const char *text, *os_version;
	} versions[] = {
		{ "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
		  "Version/26.0 Mobile/15E148 Safari/604.1",
		  "26.0" },
		{ "Mozilla/5.0 (iPhone; CPU iPhone OS 18_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
		  "Version/26.1.2 Mobile/15E148 Safari/604.1",
		  "26.1.2" },
		{ "Mozilla/5.0 (iPad; CPU OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
		  "Version/27.2 Mobile/15E148 Safari/604.1",
		  "27.2" },
		{ "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
		  "Version/26.0 EdgiOS/140.0.3485.54 Mobile/15E148 Safari/604.1",
		  "26.0" },
		{ "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6_2 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
		  "Mobile/22G100 Instagram 399.0.0.30.84 (iPhone16,2; iOS 26_0; en_US; en; scale=3.00)",
		  "26.0" },
		{ "Mozilla/5.0 (iPhone; CPU iPhone OS 18_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
		  "Mobile/23A341 [FBAN/FBIOS;FBAV/530.0.0.50.88;FBMD/iPhone;FBSN/iOS;FBSV/26.0.1;FBSS/3]",
		  "26.0.1" },
		/* These say the truth. */
		{ "Mozilla/5.0 (iPhone; CPU iPhone OS 26_0_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
		  "CriOS/140.0.7339.122 Mobile/15E148 Safari/604.1",
		  "26.0.1" },
		{ "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
		  "Version/18.6 Mobile/15E148 Safari/604.1",
		  "18.6" },
		{ "Mozilla/5.0 (iPhone; CPU iPhone OS 12_5_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
		  "Version/12.1.2 Mobile/15E148 Safari/604.1",
		  "12.5.7" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		struct user_agent found;
		user_agent_parse(*state, versions[i].text, &found);
		assert_string_equal(found.os, "iOS");
		assert_string_equal(found.os_version, versions[i].os_version);
	}
}

TEST_CASE(shows_no_version_where_browsers_send_a_constant)
{
	static const struct {
		const char *text, *os, *os_version;
	} versions[] = {
		{ "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 "
		  "Mobile Safari/537.36",
		  "Android", "" },
		{ "Mozilla/5.0 (Linux; Android 10; K; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 "
		  "Chrome/140.0.0.0 Mobile Safari/537.36",
		  "Android", "" },
		{ "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) "
		  "Version/26.0 Safari/605.1.15",
		  "Mac OS X", "" },
		{ "Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:140.0) Gecko/20100101 Firefox/140.0",
		  "Mac OS X", "" },
		{ "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
		  "Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0",
		  "Windows", "" },
		{ "Mozilla/5.0 (Windows NT 10.0; WOW64; Trident/7.0; rv:11.0) like Gecko",
		  "Windows", "" },
		{ "Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 (KHTML, like Gecko) "
		  "Chrome/140.0.0.0 Safari/537.36",
		  "Chrome OS", "" },
		/* These are true. */
		{ "Mozilla/5.0 (Linux; Android 10; SM-G960F) AppleWebKit/537.36 (KHTML, like Gecko) "
		  "Chrome/88.0.4324.93 Mobile Safari/537.36",
		  "Android", "10" },
		{ "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_14_6) AppleWebKit/605.1.15 (KHTML, like Gecko) "
		  "Version/14.1 Safari/605.1.15",
		  "Mac OS X", "10.14.6" },
		{ "Mozilla/5.0 (Windows NT 6.1; Win64; x64; rv:115.0) Gecko/20100101 Firefox/115.0",
		  "Windows", "7" },
		{ "Mozilla/5.0 (X11; CrOS x86_64 13904.97.0) AppleWebKit/537.36 (KHTML, like Gecko) "
		  "Chrome/91.0.4472.167 Safari/537.36",
		  "Chrome OS", "13904.97.0" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		struct user_agent found;
		user_agent_parse(*state, versions[i].text, &found);
		assert_string_equal(found.os, versions[i].os);
		assert_string_equal(found.os_version, versions[i].os_version);
	}
}

/* The rule for bots finds ") Bot" and "; Bot" in these. */
TEST_CASE(takes_no_scrap_of_a_header_for_a_name)
{
	static const char *const names[][2] = {
		{ "Mastodon/4.3.0 (http.rb/5.2.0; +https://social.example/) Bot", "Mastodon" },
		{ "http.rb/5.1.1 (Mastodon/4.2.1; +https://social.example/) Bot", "Mastodon" },
		{ "Akkoma 3.10.4-0-gebfb617; https://social.example <admin@social.example>; Bot",
		  "Akkoma" },
		{ "Server/1.0 (library/5.2.0; +https://social.example/) Bot", "Other" },
		{ "Server 3.10; https://social.example; Bot", "Other" },
		{ "Server/1.0 (+https://social.example) - Bot", "Other" },
		{ "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
		  "bingbot" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct user_agent found;
		user_agent_parse(*state, names[i][0], &found);
		assert_string_equal(found.browser, names[i][1]);
		assert_true(found.bot_reason[0] != '\0');
	}
}

TEST_CASE(accepts_the_longest_text)
{
	char text[REDIRECT_EVENT_USER_AGENT_MAX + 1];
	struct user_agent first, second;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	user_agent_parse(*state, text, &first);
	user_agent_parse(*state, text, &second);
	assert_string_equal(first.browser, "Other");
	assert_string_equal(second.browser, "Other");
}

TEST_CASE(reports_why_it_cannot_load_its_rules)
{
	struct user_agent_parser *parser = NULL;
	assert_int_equal(user_agent_parser_new("/does/not/exist", 10, NULL, &parser),
	                 ERR_NOT_FOUND);
	assert_null(parser);
}

static int set_up(void **state)
{
	struct user_agent_parser *parser = NULL;
	enum err err = user_agent_parser_new("", 10, NULL, &parser);
	*state = parser;
	return err == OK ? 0 : -1;
}

static int tear_down(void **state)
{
	user_agent_parser_free(*state);
	return 0;
}

TEST_MAIN(.group_set_up = set_up, .group_tear_down = tear_down)
