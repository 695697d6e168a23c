#include "services/analytics-consumer/facts/bot.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "services/analytics-consumer/facts/bot_shape.h"
#include "services/analytics-consumer/facts/words.h"

/* All words are in lower case: the header is converted to lower case before the search. */

/* Match anywhere in the header. */
static const char *const preview_agents[] = {
	"bingpreview",
	"bluesky cardyb",
	"discordbot",
	"embedly",
	"facebookcatalog",
	"facebookexternalhit",
	"facebot",
	"flipboardproxy",
	"google web preview",
	"google-pagerenderer",
	"iframely",
	"kakaotalk-scrap",
	"line-poker",
	"linkedinbot",
	"mastodon/",
	"matrix-media-repo",
	"meta-externalfetcher",
	"microsoftpreview",
	"pinterest/0.",
	"pinterestbot",
	"quora link preview",
	"redditbot",
	"skypeuripreview",
	"slack-imgproxy",
	"slackbot-linkexpanding",
	"snap url preview",
	"synapse (bot;",
	"telegrambot",
	"tumblr/",
	"twitterbot",
	"vkshare",
	"whatsapp/",
	"zoombot",
	NULL,
};

/* Match at the beginning of the header. */
static const char *const libraries[] = {
	"aiohttp/",
	"akka-http",
	"apache-httpclient",
	"apachebench",
	"axios/",
	"curl/",
	"dart/",
	"faraday",
	"go-http-client",
	"got (",
	"got/",
	"guzzlehttp",
	"hackney",
	"http_request",
	"httparty",
	"httpie/",
	"httpx/",
	"hyper/",
	"insomnia",
	"jakarta",
	"java-http-client",
	"java/",
	"k6/",
	"libcurl",
	"libwww-perl",
	"lua-resty-http",
	"lwp::",
	"microsoft url control",
	"netty",
	"node-fetch",
	"node.js",
	"okhttp",
	"php/",
	"postmanruntime",
	"powershell",
	"python-",
	"python/",
	"reqwest",
	"rest-client",
	"restsharp",
	"ruby",
	"scrapy/",
	"siege/",
	"superagent",
	"undici",
	"vert.x",
	"wget/",
	"winhttp",
	"wrk/",
	NULL,
};

/* Match anywhere. Agents listed by full name otherwise send the header of a browser. */
static const char *const crawler_words[] = {
	"archiver",
	"checker",
	"crawl",
	"diagnostics",
	"cookiehub",
	"datadogsynthetics",
	"fetcher",
	"-google",
	"google-",
	"google favicon",
	"googleother",
	"googleimageproxy",
	"gtmetrix",
	"headless",
	"http://",
	"https://",
	"httpclient",
	"httrack",
	"inspector",
	"like gecko,",
	"like gecko;",
	"lighthouse",
	"mediapartners",
	"measurement",
	"monitor",
	"newrelic",
	"nikto",
	"openvas",
	"observatory",
	"optimizer",
	"phantomjs",
	"pingdom",
	"playwright",
	"ptst/",
	"puppeteer",
	"scraper",
	"selenium",
	"silktide",
	"siteimprove",
	"slurp",
	"spider",
	"synthetic",
	"thousandeyes",
	"transcoder",
	"validator",
	"zgrab",
	NULL,
};

/* Match anywhere, but not on telephones, where people scan with apps (CamScanner). */
static const char *const scanner_words[] = { "scanner", "scanning", NULL };

/* Headers of browsers begin like this. */
static const char *const browsers[] = {
	"amaya/",   "dillo/", "elinks", "links ", "lynx/", "mozilla/",
	"netsurf/", "opera",  "ucweb/", "w3m/",   NULL,
};

/* "SomeBot/1.0" and "robots", but neither "botany" nor a telephone ("Cubot", "M bot 60"). */
static bool contains_bot(const char *text)
{
	for (const char *at = text; (at = strstr(at, "bot")); at += 3) {
		const char *end = at + 3;
		end += *end == 's';
		bool is_cubot = at - text >= 2 && strncmp(at - 2, "cu", 2) == 0;
		if (!is_cubot && !isalpha((unsigned char)*end) &&
		    !bot_shape_is_android_model(text, (size_t)(at - text)))
			return true;
	}
	return false;
}

/* "SomeHttpAgent" and "some-agent/1.0" */
static bool ends_in_agent(const char *text)
{
	for (const char *at = text; (at = strstr(at, "agent")); at += 5) {
		if (at > text && (isalpha((unsigned char)at[-1]) || at[-1] == '-') &&
		    !isalpha((unsigned char)at[5]))
			return true;
	}
	return false;
}

static bool is_crawler(const char *text, enum device_class device, bool is_appliance)
{
	if (words_any(text, crawler_words) || contains_bot(text) || bot_shape_has_site(text) ||
	    bot_shape_has_mail_address(text) || ends_in_agent(text))
		return true;
	bool is_handheld = device == DEVICE_CLASS_MOBILE || device == DEVICE_CLASS_TABLET;
	if (!is_handheld && words_any(text, scanner_words))
		return true;
	if (device == DEVICE_CLASS_DESKTOP && bot_shape_has_foreign_part(text))
		return true;
	if (device == DEVICE_CLASS_OTHER && !is_appliance && bot_shape_has_no_engine(text))
		return true;
	return device == DEVICE_CLASS_OTHER && strstr(text, "(compatible;") &&
	       !strstr(text, "msie");
}

/* "SomeApp/1.0". Software for people names at least its operating system. */
static bool names_no_system(const char *text, enum device_class device, bool is_appliance)
{
	return !is_appliance && device == DEVICE_CLASS_OTHER && text[0] != '\0' &&
	       !words_begin(text, browsers);
}

static void make_lower(const char *text, char out[static REDIRECT_EVENT_USER_AGENT_MAX + 1])
{
	size_t len = 0;
	for (; len < REDIRECT_EVENT_USER_AGENT_MAX && text[len] != '\0'; len++)
		out[len] = (char)tolower((unsigned char)text[len]);
	out[len] = '\0';
}

const char *bot_agent_reason(const char *user_agent, enum device_class device)
{
	char text[REDIRECT_EVENT_USER_AGENT_MAX + 1];
	make_lower(user_agent, text);
	if (words_any(text, preview_agents))
		return "link_preview";
	if (device == DEVICE_CLASS_BOT)
		return "crawler";
	if (words_begin(text, libraries))
		return "http_library";
	bool is_appliance = device_class_is_appliance(user_agent);
	if (is_crawler(text, device, is_appliance))
		return "crawler";
	if (names_no_system(text, device, is_appliance))
		return "http_library";
	return text[0] == '\0' ? "empty_agent" : "";
}

const char *bot_reason(const struct redirect_event *event, const struct user_agent *agent)
{
	if (agent->bot_reason[0] != '\0')
		return agent->bot_reason;
	if (event->prefetch)
		return "prefetch";
	return event->method == REDIRECT_METHOD_HEAD ? "head" : "";
}
