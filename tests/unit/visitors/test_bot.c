#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/visitors/bot.h"
#include "tests/support/test.h"

#define CHROME                                                                                     \
	"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36"

#define IPHONE                                                                                     \
	"Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/22B83"
#define ANDROID                                                                                    \
	"Mozilla/5.0 (Linux; Android 14; SM-S918B; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/126.0.0.0 Mobile Safari/537.36"

struct bot_case {
	const char *user_agent;
	enum user_agent_device device;
	enum redirect_method method;
	bool prefetch;
	const char *reason;
};

static void assert_reasons(const struct bot_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct bot_case *c = &cases[i];
		struct redirect_event click = { .method = c->method, .prefetch = c->prefetch };
		snprintf(click.user_agent, sizeof(click.user_agent), "%s", c->user_agent);
		struct user_agent agent = { .device = c->device,
			                    .bot_reason =
			                            bot_agent_reason(c->user_agent, c->device) };
		const char *reason = bot_reason(&click, &agent);
		if (strcmp(reason, c->reason) != 0)
			fail_msg("%s: \"%s\" instead of \"%s\"", c->user_agent, reason, c->reason);
	}
}

TEST_CASE(gives_the_reason_why_a_click_is_by_a_bot)
{
	static const struct bot_case cases[] = {
		{ CHROME, USER_AGENT_DESKTOP, REDIRECT_METHOD_GET, false, "" },
		{ CHROME, USER_AGENT_DESKTOP, REDIRECT_METHOD_HEAD, false, "head" },
		{ CHROME, USER_AGENT_DESKTOP, REDIRECT_METHOD_GET, true, "prefetch" },
		{ CHROME, USER_AGENT_DESKTOP, REDIRECT_METHOD_HEAD, true, "prefetch" },
		{ "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
		  USER_AGENT_BOT, REDIRECT_METHOD_GET, false, "crawler" },
		{ "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
		  USER_AGENT_BOT, REDIRECT_METHOD_HEAD, true, "crawler" },
		{ "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
		  USER_AGENT_BOT, REDIRECT_METHOD_GET, false, "link_preview" },
		{ "WhatsApp/2.23.20.0", USER_AGENT_OTHER, REDIRECT_METHOD_GET, false,
		  "link_preview" },
		{ "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)", USER_AGENT_BOT,
		  REDIRECT_METHOD_GET, false, "link_preview" },
		{ "Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)",
		  USER_AGENT_BOT, REDIRECT_METHOD_GET, false, "link_preview" },
		{ "TelegramBot (like TwitterBot)", USER_AGENT_BOT, REDIRECT_METHOD_GET, false,
		  "link_preview" },
		{ "curl/7.88.1", USER_AGENT_OTHER, REDIRECT_METHOD_GET, false, "http_library" },
		{ "python-requests/2.31.0", USER_AGENT_OTHER, REDIRECT_METHOD_GET, false,
		  "http_library" },
		{ "Go-http-client/2.0", USER_AGENT_OTHER, REDIRECT_METHOD_GET, false,
		  "http_library" },
		{ "okhttp/4.12.0", USER_AGENT_OTHER, REDIRECT_METHOD_GET, false, "http_library" },
		{ "Wget/1.21.3", USER_AGENT_OTHER, REDIRECT_METHOD_HEAD, false, "http_library" },
		{ "", USER_AGENT_OTHER, REDIRECT_METHOD_GET, false, "empty_agent" },
		{ "", USER_AGENT_OTHER, REDIRECT_METHOD_HEAD, true, "empty_agent" },
		/* The name of a library counts only at the beginning. */
		{ "Mozilla/5.0 (X11; Linux x86_64) curl/7.88", USER_AGENT_DESKTOP,
		  REDIRECT_METHOD_GET, false, "" },
		/* A header with a web site or a mail address is not sent by a browser. */
		{ "Mozilla/5.0 (Macintosh) AppleWebKit/537.36 (KHTML, like Gecko; +https://example.com/) Safari/537.36",
		  USER_AGENT_DESKTOP, REDIRECT_METHOD_GET, false, "crawler" },
		{ "Mozilla/5.0 (X11; Linux x86_64) me@example.com", USER_AGENT_DESKTOP,
		  REDIRECT_METHOD_GET, false, "crawler" },
		{ CHROME " (Ecosia android@150.0.0.0)", USER_AGENT_MOBILE, REDIRECT_METHOD_GET,
		  false, "" },
		{ CHROME " SomeBot", USER_AGENT_DESKTOP, REDIRECT_METHOD_GET, false, "crawler" },
		{ CHROME " some-robots/2", USER_AGENT_DESKTOP, REDIRECT_METHOD_GET, false,
		  "crawler" },
		{ "Mozilla/5.0 (Linux; Android 9; CUBOT_X19) Chrome/126.0.0.0 Mobile Safari/537.36",
		  USER_AGENT_MOBILE, REDIRECT_METHOD_GET, false, "" },
		{ CHROME " botanist/1.0", USER_AGENT_DESKTOP, REDIRECT_METHOD_GET, false, "" },
		{ "Mozilla/5.0 (compatible; Somebody/1.0)", USER_AGENT_OTHER, REDIRECT_METHOD_GET,
		  false, "crawler" },
		{ "Mozilla/5.0 (compatible; Konqueror/4.5; Linux)", USER_AGENT_DESKTOP,
		  REDIRECT_METHOD_GET, false, "" },
		{ CHROME " HeadlessChrome/126.0", USER_AGENT_DESKTOP, REDIRECT_METHOD_GET, false,
		  "crawler" },
		{ "SomethingNew/1.0", USER_AGENT_OTHER, REDIRECT_METHOD_GET, false,
		  "http_library" },
		{ "SomethingNew/1.0 (what for)", USER_AGENT_OTHER, REDIRECT_METHOD_GET, false,
		  "http_library" },
		{ "Mozilla/5.0 (SMART-TV; Tizen 6.0) Safari/538.1", USER_AGENT_OTHER,
		  REDIRECT_METHOD_GET, false, "" },
		{ CHROME " Somebody/2.0 (somebody.com/about)", USER_AGENT_DESKTOP,
		  REDIRECT_METHOD_GET, false, "crawler" },
		{ "Mozilla/5.0 (Linux; Android 9) com.example.app Mobile Safari/537.36",
		  USER_AGENT_MOBILE, REDIRECT_METHOD_GET, false, "" },
		{ "Nokia6230/2.0 Profile/MIDP-2.0", USER_AGENT_MOBILE, REDIRECT_METHOD_GET, false,
		  "" },
		{ "Lynx/2.8.9rel.1 libwww-FM/2.14", USER_AGENT_OTHER, REDIRECT_METHOD_GET, false,
		  "" },
	};
	assert_reasons(cases, sizeof(cases) / sizeof(cases[0]));
}

TEST_CASE(tells_people_with_unusual_agents_from_automation)
{
	static const struct bot_case cases[] = {
		/* Words with "@" or a dot that are neither mail addresses nor sites. */
		{ IPHONE
		  " Instagram 361.0.0.35.82 (iPhone14,5; iOS 18_1; ar_SA@calendar=gregorian; ar; scale=3.00)",
		  USER_AGENT_MOBILE, REDIRECT_METHOD_GET, false, "" },
		{ IPHONE
		  " Barcelona 350.0.0.28.109 (iPhone15,2; iOS 17_6; ar_SA@calendar=gregorian)",
		  USER_AGENT_MOBILE, REDIRECT_METHOD_GET, false, "" },
		{ ANDROID " AliApp(TB/10.39.10) TTID/600000@taobao_android_10.39.10",
		  USER_AGENT_MOBILE, REDIRECT_METHOD_GET, false, "" },
		{ ANDROID " AliApp(LA/7.50.0) TTID/600000@lazada_android_7.50.0", USER_AGENT_MOBILE,
		  REDIRECT_METHOD_GET, false, "" },
		{ ANDROID " CamScanner@6.70.0 intsig", USER_AGENT_MOBILE, REDIRECT_METHOD_GET,
		  false, "" },
		{ IPHONE " [FBAN/FBIOS;FBCR/Telekom.de;FBLC/de_DE]", USER_AGENT_MOBILE,
		  REDIRECT_METHOD_GET, false, "" },
		{ "Mozilla/5.0 (Linux; Android 6.0; Q.Me Build/MRA58K; wv) AppleWebKit/537.36 Chrome/44.0 Mobile Safari/537.36",
		  USER_AGENT_MOBILE, REDIRECT_METHOD_GET, false, "" },
		{ CHROME " info+bot.team@mail.example.org", USER_AGENT_DESKTOP, REDIRECT_METHOD_GET,
		  false, "crawler" },
		/* Automation that names itself in the header of a browser. */
		{ CHROME "; Devin/1.0; +devin.ai", USER_AGENT_DESKTOP, REDIRECT_METHOD_GET, false,
		  "crawler" },
		{ CHROME "; Manus-User/1.0", USER_AGENT_DESKTOP, REDIRECT_METHOD_GET, false,
		  "crawler" },
		{ CHROME " +devin.ai", USER_AGENT_DESKTOP, REDIRECT_METHOD_GET, false, "crawler" },
		{ "page-preview-tool " CHROME, USER_AGENT_DESKTOP, REDIRECT_METHOD_GET, false,
		  "crawler" },
		{ "Mozilla/5.0 (watchTowr; Windows NT 10.0; Win64; x64; rv:84.0) Gecko/20100101 Firefox/84.0",
		  USER_AGENT_DESKTOP, REDIRECT_METHOD_GET, false, "crawler" },
		{ "Mozilla/5.0 (PC; OpenHarmony 6.1; Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/132.0.0.0 Safari/537.36",
		  USER_AGENT_DESKTOP, REDIRECT_METHOD_GET, false, "" },
		/* A field that an extension adds names the page and not the visitor. */
		{ CHROME " Initiator: https://shop.example", USER_AGENT_DESKTOP,
		  REDIRECT_METHOD_GET, false, "" },
		{ IPHONE " Referer: https://shop.example/a?b", USER_AGENT_MOBILE,
		  REDIRECT_METHOD_GET, false, "" },
		{ CHROME " Origin: https://shop.example", USER_AGENT_DESKTOP, REDIRECT_METHOD_GET,
		  false, "" },
		{ CHROME " SomeBot/1.0 Initiator: https://shop.example", USER_AGENT_DESKTOP,
		  REDIRECT_METHOD_GET, false, "crawler" },
		{ CHROME " Contact: https://shop.example", USER_AGENT_DESKTOP, REDIRECT_METHOD_GET,
		  false, "crawler" },
		{ "checker Initiator: https://shop.example", USER_AGENT_OTHER, REDIRECT_METHOD_GET,
		  false, "crawler" },
		{ CHROME " SomeHttpAgent", USER_AGENT_DESKTOP, REDIRECT_METHOD_GET, false,
		  "crawler" },
		{ "Mozilla/5.0 infrawatch/0.1", USER_AGENT_OTHER, REDIRECT_METHOD_GET, false,
		  "crawler" },
		{ CHROME " NewBrowser/1.0", USER_AGENT_DESKTOP, REDIRECT_METHOD_GET, false, "" },
		/* Telephones and televisions with such names. */
		{ "Mozilla/5.0 (Linux; Android 7.0; M bot 60 Build/NRD90M) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/58.0 Mobile Safari/537.36",
		  USER_AGENT_MOBILE, REDIRECT_METHOD_GET, false, "" },
		{ "Mozilla/5.0 (Linux; Android 6.0; Nexus 5X) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0 Mobile Safari/537.36 (compatible; SomeBot/2.1)",
		  USER_AGENT_MOBILE, REDIRECT_METHOD_GET, false, "crawler" },
		{ "TV Bro/1.0 Mozilla/5.0 (Linux; Android 9; KIVI 2K Android TV) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/93.0 Safari/537.36",
		  USER_AGENT_OTHER, REDIRECT_METHOD_GET, false, "" },
	};
	assert_reasons(cases, sizeof(cases) / sizeof(cases[0]));
}

TEST_MAIN()
