#include "services/analytics-consumer/bot.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

/* Somewhere in the header, in any case. */
static const char *const preview_agents[] = {
	"bingpreview",
	"bluesky cardyb",
	"discordbot",
	"embedly",
	"facebookcatalog",
	"facebookexternalhit",
	"facebot",
	"flipboardproxy",
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

/* At the beginning of the header, in any case. */
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

static bool has_any(const char *text, const char *const *words)
{
	for (size_t i = 0; words[i]; i++) {
		if (strcasestr(text, words[i]))
			return true;
	}
	return false;
}

static bool begins_with_any(const char *text, const char *const *beginnings)
{
	for (size_t i = 0; beginnings[i]; i++) {
		if (strncasecmp(text, beginnings[i], strlen(beginnings[i])) == 0)
			return true;
	}
	return false;
}

const char *bot_agent_reason(const char *user_agent, enum device_class device)
{
	if (has_any(user_agent, preview_agents))
		return "link_preview";
	if (device == DEVICE_CLASS_BOT)
		return "crawler";
	if (begins_with_any(user_agent, libraries))
		return "http_library";
	return user_agent[0] == '\0' ? "empty_agent" : "";
}

const char *bot_reason(const struct redirect_event *event, const struct user_agent *agent)
{
	if (agent->bot_reason[0] != '\0')
		return agent->bot_reason;
	if (event->prefetch)
		return "prefetch";
	return event->method == REDIRECT_METHOD_HEAD ? "head" : "";
}
