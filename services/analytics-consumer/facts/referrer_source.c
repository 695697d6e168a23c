#include "services/analytics-consumer/facts/referrer_source.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"

struct source {
	const char *host;
	const char *name;
};

/* Sites, including all their subdomains, and apps (android-app://). Sorted by strcmp. */
static const struct source sites[] = {
	{ "ai.perplexity.app.android", "Perplexity" },
	{ "ai.x.grok", "Grok" },
	{ "aliexpress.com", "AliExpress" },
	{ "aol.co.uk", "AOL" },
	{ "aol.com", "AOL" },
	{ "apple.com", "Apple" },
	{ "asana.com", "Asana" },
	{ "ask.com", "Ask" },
	{ "atlassian.com", "Jira" },
	{ "atlassian.net", "Jira" },
	{ "b23.tv", "Bilibili" },
	{ "baidu.com", "Baidu" },
	{ "basecamp.com", "Basecamp" },
	{ "behance.net", "Behance" },
	{ "bilibili.com", "Bilibili" },
	{ "bing.com", "Bing" },
	{ "bitbucket.org", "Bitbucket" },
	{ "blogger.com", "Blogger" },
	{ "blogspot.com", "Blogger" },
	{ "bsky.app", "Bluesky" },
	{ "bsky.social", "Bluesky" },
	{ "canva.com", "Canva" },
	{ "ch.protonmail.android", "Proton Mail" },
	{ "chat.google.com", "Google Chat" },
	{ "chat.openai.com", "ChatGPT" },
	{ "chatgpt.com", "ChatGPT" },
	{ "classroom.google.com", "Google Classroom" },
	{ "claude.ai", "Claude" },
	{ "coccoc.com", "Coc Coc" },
	{ "com.anthropic.claude", "Claude" },
	{ "com.discord", "Discord" },
	{ "com.duckduckgo.mobile.android", "DuckDuckGo" },
	{ "com.ecosia.android", "Ecosia" },
	{ "com.etsy.android", "Etsy" },
	{ "com.facebook.katana", "Facebook" },
	{ "com.facebook.lite", "Facebook" },
	{ "com.facebook.orca", "Messenger" },
	{ "com.github.android", "GitHub" },
	{ "com.google.android.apps.bard", "Gemini" },
	{ "com.google.android.apps.docs", "Google Docs" },
	{ "com.google.android.apps.dynamite", "Google Chat" },
	{ "com.google.android.apps.magazines", "Google Discover" },
	{ "com.google.android.apps.maps", "Google Maps" },
	{ "com.google.android.apps.messaging", "Google Messages" },
	{ "com.google.android.apps.searchlite", "Google" },
	{ "com.google.android.gm", "Gmail" },
	{ "com.google.android.gm.lite", "Gmail" },
	{ "com.google.android.googlequicksearchbox", "Google" },
	{ "com.google.android.youtube", "YouTube" },
	{ "com.instagram.android", "Instagram" },
	{ "com.instagram.barcelona", "Threads" },
	{ "com.kakao.talk", "KakaoTalk" },
	{ "com.linkedin.android", "LinkedIn" },
	{ "com.medium.reader", "Medium" },
	{ "com.microsoft.bing", "Bing" },
	{ "com.microsoft.copilot", "Microsoft Copilot" },
	{ "com.microsoft.emmx", "Microsoft Edge" },
	{ "com.microsoft.office.outlook", "Outlook" },
	{ "com.microsoft.teams", "Microsoft Teams" },
	{ "com.openai.chatgpt", "ChatGPT" },
	{ "com.reddit.frontpage", "Reddit" },
	{ "com.sina.weibo", "Weibo" },
	{ "com.skype.raider", "Skype" },
	{ "com.slack", "Slack" },
	{ "com.snapchat.android", "Snapchat" },
	{ "com.spotify.music", "Spotify" },
	{ "com.ss.android.ugc.trill", "TikTok" },
	{ "com.substack.app", "Substack" },
	{ "com.tencent.mm", "WeChat" },
	{ "com.tumblr", "Tumblr" },
	{ "com.twitter.android", "X" },
	{ "com.viber.voip", "Viber" },
	{ "com.vkontakte.android", "VK" },
	{ "com.whatsapp", "WhatsApp" },
	{ "com.whatsapp.w4b", "WhatsApp" },
	{ "com.yahoo.mobile.client.android.mail", "Yahoo Mail" },
	{ "com.yandex.browser", "Yandex" },
	{ "com.zhiliaoapp.musically", "TikTok" },
	{ "copilot.com", "Microsoft Copilot" },
	{ "copilot.microsoft.com", "Microsoft Copilot" },
	{ "dailymotion.com", "Dailymotion" },
	{ "daum.net", "Daum" },
	{ "ddg.gg", "DuckDuckGo" },
	{ "deepseek.com", "DeepSeek" },
	{ "deviantart.com", "DeviantArt" },
	{ "discord.com", "Discord" },
	{ "discord.gg", "Discord" },
	{ "discordapp.com", "Discord" },
	{ "docs.google.com", "Google Docs" },
	{ "dogpile.com", "Dogpile" },
	{ "douban.com", "Douban" },
	{ "dribbble.com", "Dribbble" },
	{ "drive.google.com", "Google Drive" },
	{ "dropbox.com", "Dropbox" },
	{ "duckduckgo.com", "DuckDuckGo" },
	{ "dzen.ru", "Dzen" },
	{ "ecosia.org", "Ecosia" },
	{ "etsy.com", "Etsy" },
	{ "eventbrite.co.uk", "Eventbrite" },
	{ "eventbrite.com", "Eventbrite" },
	{ "eventbrite.de", "Eventbrite" },
	{ "evernote.com", "Evernote" },
	{ "facebook.com", "Facebook" },
	{ "facebook.net", "Facebook" },
	{ "fastmail.com", "Fastmail" },
	{ "fb.com", "Facebook" },
	{ "fb.me", "Facebook" },
	{ "feedly.com", "Feedly" },
	{ "figma.com", "Figma" },
	{ "flickr.com", "Flickr" },
	{ "flipboard.app", "Flipboard" },
	{ "flipboard.com", "Flipboard" },
	{ "force.com", "Salesforce" },
	{ "gemini.google.com", "Gemini" },
	{ "getpocket.com", "Pocket" },
	{ "github.com", "GitHub" },
	{ "github.io", "GitHub" },
	{ "gitlab.com", "GitLab" },
	{ "gmx.at", "GMX" },
	{ "gmx.ch", "GMX" },
	{ "gmx.com", "GMX" },
	{ "gmx.de", "GMX" },
	{ "gmx.net", "GMX" },
	{ "goodreads.com", "Goodreads" },
	{ "google.cat", "Google" },
	{ "googleusercontent.com", "Google" },
	{ "grok.com", "Grok" },
	{ "hatena.ne.jp", "Hatena" },
	{ "hn.algolia.com", "Hacker News" },
	{ "hotmail.com", "Outlook" },
	{ "hubspot.com", "HubSpot" },
	{ "icloud.com", "iCloud" },
	{ "ig.me", "Instagram" },
	{ "inbox.google.com", "Gmail" },
	{ "inoreader.com", "Inoreader" },
	{ "instagram.com", "Instagram" },
	{ "instapaper.com", "Instapaper" },
	{ "ixquick.com", "Startpage" },
	{ "joinmastodon.org", "Mastodon" },
	{ "jp.naver.line.android", "LINE" },
	{ "kagi.com", "Kagi" },
	{ "kakao.com", "KakaoTalk" },
	{ "line.me", "LINE" },
	{ "linkedin.com", "LinkedIn" },
	{ "linktr.ee", "Linktree" },
	{ "list-manage.com", "Mailchimp" },
	{ "lnkd.in", "LinkedIn" },
	{ "lobste.rs", "Lobsters" },
	{ "m.me", "Messenger" },
	{ "mail.google.com", "Gmail" },
	{ "mail.live.com", "Outlook" },
	{ "mail.ru", "Mail.ru" },
	{ "mail.yahoo.co.jp", "Yahoo Mail" },
	{ "mail.yahoo.com", "Yahoo Mail" },
	{ "mailchi.mp", "Mailchimp" },
	{ "mailchimp.com", "Mailchimp" },
	{ "maps.google.com", "Google Maps" },
	{ "mastodon.online", "Mastodon" },
	{ "mastodon.social", "Mastodon" },
	{ "mastodon.world", "Mastodon" },
	{ "medium.com", "Medium" },
	{ "meetup.com", "Meetup" },
	{ "messenger.com", "Messenger" },
	{ "metager.de", "MetaGer" },
	{ "metager.org", "MetaGer" },
	{ "microsoft365.com", "Microsoft 365" },
	{ "miro.com", "Miro" },
	{ "mistral.ai", "Mistral" },
	{ "mojeek.com", "Mojeek" },
	{ "msn.com", "MSN" },
	{ "mstdn.jp", "Mastodon" },
	{ "mstdn.social", "Mastodon" },
	{ "myshopify.com", "Shopify" },
	{ "naver.com", "Naver" },
	{ "news.google.com", "Google News" },
	{ "news.ycombinator.com", "Hacker News" },
	{ "nextdoor.co.uk", "Nextdoor" },
	{ "nextdoor.com", "Nextdoor" },
	{ "nextdoor.de", "Nextdoor" },
	{ "notion.com", "Notion" },
	{ "notion.site", "Notion" },
	{ "notion.so", "Notion" },
	{ "ntp.msn.com", "Microsoft Edge" },
	{ "odnoklassniki.ru", "Odnoklassniki" },
	{ "office.com", "Microsoft 365" },
	{ "office365.com", "Microsoft 365" },
	{ "ok.ru", "Odnoklassniki" },
	{ "org.joinmastodon.android", "Mastodon" },
	{ "org.telegram.messenger", "Telegram" },
	{ "org.telegram.messenger.web", "Telegram" },
	{ "org.telegram.plus", "Telegram" },
	{ "org.thoughtcrime.securesms", "Signal" },
	{ "org.wikipedia", "Wikipedia" },
	{ "outlook.com", "Outlook" },
	{ "outlook.live.com", "Outlook" },
	{ "outlook.office.com", "Outlook" },
	{ "outlook.office365.com", "Outlook" },
	{ "patreon.com", "Patreon" },
	{ "perplexity.ai", "Perplexity" },
	{ "phind.com", "Phind" },
	{ "pin.it", "Pinterest" },
	{ "poe.com", "Poe" },
	{ "producthunt.com", "Product Hunt" },
	{ "proton.me", "Proton Mail" },
	{ "protonmail.com", "Proton Mail" },
	{ "qq.com", "QQ" },
	{ "quora.com", "Quora" },
	{ "qwant.com", "Qwant" },
	{ "rambler.ru", "Rambler" },
	{ "redd.it", "Reddit" },
	{ "reddit.com", "Reddit" },
	{ "ru.yandex.searchplugin", "Yandex" },
	{ "salesforce.com", "Salesforce" },
	{ "search.brave.com", "Brave Search" },
	{ "seznam.cz", "Seznam" },
	{ "sharepoint.com", "SharePoint" },
	{ "shopify.com", "Shopify" },
	{ "signal.org", "Signal" },
	{ "skype.com", "Skype" },
	{ "slack-redir.net", "Slack" },
	{ "slack.com", "Slack" },
	{ "slashdot.org", "Slashdot" },
	{ "snapchat.com", "Snapchat" },
	{ "so.com", "So.com" },
	{ "sogou.com", "Sogou" },
	{ "soundcloud.com", "SoundCloud" },
	{ "spotify.com", "Spotify" },
	{ "stackexchange.com", "Stack Overflow" },
	{ "stackoverflow.com", "Stack Overflow" },
	{ "startpage.com", "Startpage" },
	{ "substack.com", "Substack" },
	{ "swisscows.com", "Swisscows" },
	{ "t-online.de", "T-Online" },
	{ "t.cn", "Weibo" },
	{ "t.co", "X" },
	{ "t.me", "Telegram" },
	{ "teams.cdn.office.net", "Microsoft Teams" },
	{ "teams.live.com", "Microsoft Teams" },
	{ "teams.microsoft.com", "Microsoft Teams" },
	{ "telegram.me", "Telegram" },
	{ "telegram.org", "Telegram" },
	{ "threads.com", "Threads" },
	{ "threads.net", "Threads" },
	{ "tiktok.com", "TikTok" },
	{ "translate.goog", "Google Translate" },
	{ "translate.google.com", "Google Translate" },
	{ "trello.com", "Trello" },
	{ "tumblr.com", "Tumblr" },
	{ "tv.twitch.android.app", "Twitch" },
	{ "tweetdeck.com", "X" },
	{ "twitch.tv", "Twitch" },
	{ "twitter.com", "X" },
	{ "viber.com", "Viber" },
	{ "vimeo.com", "Vimeo" },
	{ "vk.com", "VK" },
	{ "vk.ru", "VK" },
	{ "vkontakte.ru", "VK" },
	{ "wa.me", "WhatsApp" },
	{ "web.de", "WEB.DE" },
	{ "wechat.com", "WeChat" },
	{ "weibo.cn", "Weibo" },
	{ "weibo.com", "Weibo" },
	{ "weixin.qq.com", "WeChat" },
	{ "whatsapp.com", "WhatsApp" },
	{ "wikipedia.org", "Wikipedia" },
	{ "wordpress.com", "WordPress" },
	{ "wordpress.org", "WordPress" },
	{ "workplace.com", "Facebook" },
	{ "x.com", "X" },
	{ "xhslink.com", "Xiaohongshu" },
	{ "xiaohongshu.com", "Xiaohongshu" },
	{ "xing.com", "XING" },
	{ "xyz.blueskyweb.app", "Bluesky" },
	{ "ya.ru", "Yandex" },
	{ "you.com", "You.com" },
	{ "youtu.be", "YouTube" },
	{ "youtube-nocookie.com", "YouTube" },
	{ "youtube.com", "YouTube" },
	{ "zen.yandex.ru", "Dzen" },
	{ "zhihu.com", "Zhihu" },
	{ "zoho.com", "Zoho" },
	{ "zoho.eu", "Zoho" },
	{ "zoho.in", "Zoho" },
	{ "zoom.com", "Zoom" },
	{ "zoom.us", "Zoom" },
};

/* Brands with a site in every country: the label before the country's suffix. Sorted by strcmp. */
static const struct source brands[] = {
	{ "amazon", "Amazon" },       { "ebay", "eBay" },   { "google", "Google" },
	{ "pinterest", "Pinterest" }, { "yahoo", "Yahoo" }, { "yandex", "Yandex" },
};

/* The part of a host that is searched: the rest of the host or, for brands, one label. */
struct part {
	const char *text;
	size_t len;
};

static int compare(const void *key, const void *element)
{
	const struct part *part = key;
	const struct source *source = element;
	int order = strncmp(part->text, source->host, part->len);
	return order != 0 ? order : -(source->host[part->len] != '\0');
}

static const char *find(const struct source *sources, size_t count, const char *text, size_t len)
{
	const struct part part = { text, len };
	const struct source *found = bsearch(&part, sources, count, sizeof(*sources), compare);
	return found ? found->name : NULL;
}

static bool is_country_label(const char *text)
{
	return islower((unsigned char)text[0]) && islower((unsigned char)text[1]) &&
	       text[2] == '\0';
}

/* "com", "de", "co.uk", "com.br" */
static bool is_country_suffix(const char *text)
{
	if (strcmp(text, "com") == 0 || is_country_label(text))
		return true;
	return (strncmp(text, "co.", 3) == 0 && is_country_label(text + 3)) ||
	       (strncmp(text, "com.", 4) == 0 && is_country_label(text + 4));
}

static const char *find_at(const char *host)
{
	const char *name = find(sites, ARRAY_SIZE(sites), host, strlen(host));
	if (name)
		return name;
	const char *dot = strchr(host, '.');
	if (!dot || !is_country_suffix(dot + 1))
		return NULL;
	return find(brands, ARRAY_SIZE(brands), host, (size_t)(dot - host));
}

const char *referrer_source_of(const char *host)
{
	while (*host) {
		const char *name = find_at(host);
		if (name)
			return name;
		host += strcspn(host, ".");
		host += *host == '.';
	}
	return "";
}
