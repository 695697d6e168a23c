#include <stdint.h>
#include <string.h>

#include "lib/clicks/redirect_event.h"
#include "services/analytics-consumer/facts/user_agent.h"
#include "tests/support/test.h"

#define RULES "/usr/share/uap-core/regexes.yaml"

struct agent_case {
	const char *text, *browser, *os;
	enum device_class device;
	const char *bot_reason;
};

static const struct agent_case cases[] = {
	{ "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
	  "Chrome", "Windows", DEVICE_CLASS_DESKTOP, "" },
	{ "Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0", "Firefox",
	  "Linux", DEVICE_CLASS_DESKTOP, "" },
	{ "Mozilla/5.0 (Macintosh; Intel Mac OS X 14_5) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Safari/605.1.15",
	  "Safari", "Mac OS X", DEVICE_CLASS_DESKTOP, "" },
	{ "Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
	  "Chrome", "Chrome OS", DEVICE_CLASS_DESKTOP, "" },
	{ "Mozilla/5.0 (compatible; MSIE 10.0; Windows NT 6.2; Trident/6.0; Touch; Tablet PC 2.0)",
	  "IE", "Windows", DEVICE_CLASS_DESKTOP, "" },
	{ "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 "
	  "Mobile/15E148 Safari/604.1",
	  "Mobile Safari", "iOS", DEVICE_CLASS_MOBILE, "" },
	{ "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36",
	  "Chrome Mobile", "Android", DEVICE_CLASS_MOBILE, "" },
	{ "Opera/9.80 (J2ME/MIDP; Opera Mini/9.80 (S60; SymbOS; U; en) Presto/2.5.25 Version/10.54",
	  "Opera Mini", "Symbian OS", DEVICE_CLASS_MOBILE, "" },
	{ "Mozilla/5.0 (iPad; CPU OS 12_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/12.1.2 "
	  "Mobile/15E148 Safari/604.1",
	  "Mobile Safari", "iOS", DEVICE_CLASS_TABLET, "" },
	{ "Mozilla/5.0 (Linux; Android 13; SM-T870) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
	  "Chrome", "Android", DEVICE_CLASS_TABLET, "" },
	{ "Mozilla/5.0 (Android 13; Tablet; rv:127.0) Gecko/127.0 Firefox/127.0", "Firefox Mobile",
	  "Android", DEVICE_CLASS_TABLET, "" },
	{ "Mozilla/5.0 (SMART-TV; Linux; Tizen 6.0) AppleWebKit/538.1 (KHTML, like Gecko) Version/6.0 TV Safari/538.1",
	  "Safari", "Tizen", DEVICE_CLASS_OTHER, "" },
	{ "Mozilla/5.0 (Windows NT 10.0; Win64; x64; Xbox; Xbox One) AppleWebKit/537.36 (KHTML, like Gecko) "
	  "Chrome/44.0.2403.157 Safari/537.36 Edge/13.10553",
	  "Edge", "Windows", DEVICE_CLASS_OTHER, "" },
	{ "Mozilla/5.0 (Linux; Android 9; AFTKA Build/PS7633; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 "
	  "Chrome/126.0.0.0 Safari/537.36",
	  "Chrome Mobile WebView", "Android", DEVICE_CLASS_OTHER, "" },
	{ "Mozilla/5.0 (Linux; Android 11; TV box) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
	  "Chrome", "Android", DEVICE_CLASS_OTHER, "" },
	{ "Mozilla/5.0 (Linux; Android 12; Onn. 4K Streaming Box) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 "
	  "Safari/537.36",
	  "Chrome", "Android", DEVICE_CLASS_OTHER, "" },
	{ "Mozilla/5.0 (Linux; Android 6.0.1; TF-LED32S59T2S) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 "
	  "Safari/537.36",
	  "Chrome", "Android", DEVICE_CLASS_OTHER, "" },
	{ "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36 SteamDeck",
	  "Chrome", "Linux", DEVICE_CLASS_OTHER, "" },
	{ "Mozilla/5.0 (Linux; Android 13; Sketchbox 4) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
	  "Chrome", "Android", DEVICE_CLASS_TABLET, "" },
	{ "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", "Googlebot",
	  "Other", DEVICE_CLASS_BOT, "crawler" },
	{ "Dalvik/2.1.0 (Linux; U; Android 9; SM-G960F Build/PPR1.180610.011)", "Android",
	  "Android", DEVICE_CLASS_MOBILE, "" },
	{ "curl/7.88.1", "curl", "Other", DEVICE_CLASS_OTHER, "http_library" },
	{ "", "Other", "Other", DEVICE_CLASS_OTHER, "empty_agent" },
	{ "\xe6\xb5\x8f\xe8\xa7\x88\xe5\x99\xa8", "Other", "Other", DEVICE_CLASS_OTHER,
	  "http_library" },
};

static void assert_case(struct user_agent_parser *parser, const struct agent_case *c)
{
	struct user_agent found;
	user_agent_parse(parser, c->text, &found);
	assert_string_equal(found.browser, c->browser);
	assert_string_equal(found.os, c->os);
	assert_string_equal(device_class_name(found.device), device_class_name(c->device));
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
		  "126.0.6478", "10" },
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
	enum err err = user_agent_parser_new(RULES, 10, NULL, &parser);
	*state = parser;
	return err == OK ? 0 : -1;
}

static int tear_down(void **state)
{
	user_agent_parser_free(*state);
	return 0;
}

TEST_MAIN(.group_set_up = set_up, .group_tear_down = tear_down)
