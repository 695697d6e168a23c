#include "lib/visitors/user_agent.h"

#include <ctype.h>
#include <pthread.h>
#include <string.h>
#include <strings.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/base/utf8.h"
#include "lib/clicks/redirect_event.h"
#include "lib/visitors/bot.h"
#include "lib/visitors/text_cache.h"
#include "lib/visitors/user_agent_rules.h"

/* --- devices --- */

/* Devices that are neither computers nor telephones, whatever system they run. */
static const char *const appliance_words[] = {
	"TV",       "Xbox",      "XBOX",    "PlayStation", "Playstation", "PLAYSTATION",
	"Nintendo", "Roku",      "CrKey",   "BRAVIA",      "watchOS",     "Apple Watch",
	"Viera",    "VIERA",     "Web0S",   "NetCast",     "SMART-TV",    "TiVo",
	"avdn/",    "AppleCore", "SHIELD",  "Steam Game",  "SteamDeck",   "BrightSign",
	"OUYA",     "VIZIO",     "CE-HTML", "Bravia",      "Chromecast",  "GAMEPAD",
	"Retroid",  "Kodi/",     "DuneHD",  "STB",         NULL
};
/* In the name of an Android device, in any case, between other characters than letters. */
static const char *const appliance_models[] = { "tv",     "box",     "stick",  "shell",
	                                        "stb",    "set-top", "4k",     "uhd",
	                                        "fhd",    "8k",      "dongle", "projector",
	                                        "switch", "smarttv", "tvbox",  NULL };
static const char *const tablet_words[] = { "iPad",   "Tablet;", "Tablet)", "PlayBook",
	                                    "Kindle", "Silk/",   NULL };
static const char *const mobile_words[] = { "Mobile", "Mobi/", "Opera Mini", "Opera Mobi",
	                                    "MIDP",   "Phone", NULL };

/* Prefixes of operating-system families. */
static const char *const mobile_systems[] = { "Android",        "iOS",        "Windows Phone",
	                                      "Windows Mobile", "BlackBerry", "Symbian",
	                                      "KaiOS",          "Firefox OS", "Bada",
	                                      "MeeGo",          "Maemo",      "Brew",
	                                      "Windows CE",     "HarmonyOS",  NULL };
static const char *const desktop_systems[] = {
	"Windows", "Mac OS",    "Linux",     "Ubuntu",    "Kubuntu",     "Debian",
	"Fedora",  "Red Hat",   "CentOS",    "SUSE",      "openSUSE",    "Arch Linux",
	"Gentoo",  "Mandriva",  "Slackware", "PCLinuxOS", "VectorLinux", "Linux Mint",
	"Mageia",  "Chrome OS", "FreeBSD",   "OpenBSD",   "NetBSD",      "DragonFly",
	"Solaris", NULL
};

bool user_agent_contains(const char *text, const char *const *words)
{
	for (size_t i = 0; words[i]; i++) {
		if (strstr(text, words[i]))
			return true;
	}
	return false;
}

bool user_agent_begins_with(const char *text, const char *const *words)
{
	for (size_t i = 0; words[i]; i++) {
		if (strncmp(text, words[i], strlen(words[i])) == 0)
			return true;
	}
	return false;
}

/* The name of an Android device: what follows "Android 9;" up to " Build/" or ")". */
static size_t android_model(const char *user_agent, const char **model)
{
	const char *system = strstr(user_agent, "Android ");
	*model = system ? strchr(system, ';') : NULL;
	if (!*model)
		return 0;
	size_t len = strcspn(*model, ")");
	const char *build = strstr(*model, " Build/");
	return build && (size_t)(build - *model) < len ? (size_t)(build - *model) : len;
}

static bool is_word_at(const char *at, size_t left, const char *word)
{
	size_t len = strlen(word);
	return len <= left && strncasecmp(at, word, len) == 0 &&
	       (len == left || !isalpha((unsigned char)at[len]));
}

/* "AFTMM" and other devices of Fire TV, and a television's size: "LED55" */
static bool is_television_code(const char *at, size_t left)
{
	if (left > 3 && strncmp(at, "AFT", 3) == 0 && isupper((unsigned char)at[3]))
		return true;
	return left > 4 && strncasecmp(at, "led", 3) == 0 &&
	       isdigit((unsigned char)at[3 + (at[3] == '-')]);
}

static bool is_appliance_model(const char *user_agent)
{
	const char *model;
	size_t len = android_model(user_agent, &model);
	for (size_t i = 1; i < len; i++) {
		if (isalpha((unsigned char)model[i - 1]))
			continue;
		if (is_television_code(model + i, len - i))
			return true;
		for (size_t w = 0; appliance_models[w]; w++) {
			if (is_word_at(model + i, len - i, appliance_models[w]))
				return true;
		}
	}
	return false;
}

bool user_agent_is_appliance(const char *user_agent)
{
	return user_agent_contains(user_agent, appliance_words) || is_appliance_model(user_agent);
}

/* On Android, browsers send "Mobile" on telephones only. Other programs never send it. */
static bool is_android_tablet(const char *user_agent, const char *os)
{
	return strcmp(os, "Android") == 0 && strncmp(user_agent, "Mozilla/", 8) == 0 &&
	       !strstr(user_agent, "Mobi");
}

static enum user_agent_device device_of(const char *user_agent, const char *os, bool is_spider)
{
	if (is_spider)
		return USER_AGENT_BOT;
	if (user_agent_is_appliance(user_agent))
		return USER_AGENT_OTHER;
	if (strstr(user_agent, "(PC; OpenHarmony"))
		return USER_AGENT_DESKTOP;
	if (user_agent_contains(user_agent, tablet_words) || is_android_tablet(user_agent, os))
		return USER_AGENT_TABLET;
	if (user_agent_begins_with(os, mobile_systems) ||
	    user_agent_contains(user_agent, mobile_words))
		return USER_AGENT_MOBILE;
	return user_agent_begins_with(os, desktop_systems) ? USER_AGENT_DESKTOP : USER_AGENT_OTHER;
}

const char *user_agent_device_name(enum user_agent_device device)
{
	switch (device) {
	case USER_AGENT_DESKTOP:
		return "desktop";
	case USER_AGENT_MOBILE:
		return "mobile";
	case USER_AGENT_TABLET:
		return "tablet";
	case USER_AGENT_BOT:
		return "bot";
	case USER_AGENT_OTHER:
		break;
	}
	return "other";
}

/* --- the parser --- */

struct user_agent_parser {
	const char *path;
	const struct log *log;
	/* Protects the two below. */
	pthread_mutex_t lock;
	struct user_agent_rules *rules;
	/* Of struct user_agent. */
	struct text_cache *cache;
};

static enum err load(const char *path, const struct log *log, struct user_agent_rules **out)
{
	struct strbuf problem;
	strbuf_init(&problem, 1000);
	enum err err = user_agent_rules_load(path, out, &problem);
	if (err == OK)
		log_info(log, "user_agent_rules_read",
		         LOG_INT("count", user_agent_rules_count(*out)));
	else
		log_error(log, "user_agent_rules_unreadable", LOG_TEXT("path", path),
		          LOG_TEXT("message", problem.data));
	strbuf_clear(&problem);
	return err;
}

enum err user_agent_parser_new(const char *path, size_t cache_capacity, const struct log *log,
                               struct user_agent_parser **out)
{
	struct user_agent_rules *rules = NULL;
	enum err err = load(path, log, &rules);
	if (err != OK)
		return err;
	struct user_agent_parser *parser = mem_zero(sizeof(*parser));
	parser->path = path;
	parser->log = log;
	pthread_mutex_init(&parser->lock, NULL);
	parser->rules = rules;
	parser->cache = text_cache_new(cache_capacity, REDIRECT_EVENT_USER_AGENT_MAX,
	                               sizeof(struct user_agent));
	*out = parser;
	return OK;
}

void user_agent_parser_free(struct user_agent_parser *parser)
{
	if (!parser)
		return;
	user_agent_rules_free(parser->rules);
	text_cache_free(parser->cache);
	pthread_mutex_destroy(&parser->lock);
	free(parser);
}

enum err user_agent_parser_reload(struct user_agent_parser *parser)
{
	struct user_agent_rules *fresh = NULL;
	enum err err = load(parser->path, parser->log, &fresh);
	if (err != OK)
		return err;
	pthread_mutex_lock(&parser->lock);
	struct user_agent_rules *old = parser->rules;
	parser->rules = fresh;
	text_cache_clear(parser->cache);
	pthread_mutex_unlock(&parser->lock);
	user_agent_rules_free(old);
	return OK;
}

/* False for a scrap of the header that a rule took for a name: ") Bot", "; Bot", "+https". */
static bool is_name(const char *family)
{
	int depth = 0;
	if (!isalnum((unsigned char)family[0]) && (unsigned char)family[0] < 0x80)
		return false;
	for (const char *c = family; *c; c++) {
		depth += *c == '(';
		depth -= *c == ')';
		if (depth < 0 || *c == ';' || strncmp(c, "://", 3) == 0)
			return false;
	}
	return depth == 0;
}

static void copy_family(const struct user_agent_match *match, char *out, size_t size)
{
	const char *family = is_name(match->fields[0]) ? match->fields[0] : "Other";
	utf8_copy_clean(family, strlen(family), out, size);
}

/* Browsers send these instead of the version that is there. */
static bool is_constant(const char *os, const char *version, const char *text)
{
	static const struct {
		const char *os, *version, *part;
	} constants[] = {
		{ "Windows", "10", "Windows NT 10.0" },    { "Mac OS X", "10.15.7", "10_15_7" },
		{ "Mac OS X", "10.15", "Mac OS X 10.15" }, { "Android", "10", "Android 10; K" },
		{ "Chrome OS", "14541.0.0", "14541.0.0" },
	};
	for (size_t i = 0; i < ARRAY_SIZE(constants); i++) {
		if (strcmp(constants[i].os, os) == 0 &&
		    strcmp(constants[i].version, version) == 0 && strstr(text, constants[i].part))
			return true;
	}
	return false;
}

/* "17.5.1": all parts before the first missing one. */
static void join_version(const struct user_agent_match *match, char *out, size_t size)
{
	char version[USER_AGENT_RULES_FIELDS_MAX * (USER_AGENT_RULES_FIELD_SIZE + 1)] = "";
	char *end = version;
	for (size_t f = 1; f < USER_AGENT_RULES_FIELDS_MAX && match->fields[f][0] != '\0'; f++) {
		if (f > 1)
			*end++ = '.';
		end = stpcpy(end, match->fields[f]);
	}
	utf8_copy_clean(version, (size_t)(end - version), out, size);
}

static void match_rules(struct user_agent_parser *parser, const char *text, struct user_agent *out)
{
	struct user_agent_match browser, os;
	size_t len = strlen(text);
	user_agent_rules_match(parser->rules, USER_AGENT_RULES_BROWSER, text, len, &browser);
	user_agent_rules_match(parser->rules, USER_AGENT_RULES_OS, text, len, &os);
	copy_family(&browser, out->browser, sizeof(out->browser));
	join_version(&browser, out->browser_version, sizeof(out->browser_version));
	copy_family(&os, out->os, sizeof(out->os));
	join_version(&os, out->os_version, sizeof(out->os_version));
	if (is_constant(out->os, out->os_version, text))
		out->os_version[0] = '\0';
	out->device =
		device_of(text, os.fields[0], user_agent_rules_is_spider(parser->rules, text, len));
	out->bot_reason = bot_agent_reason(text, out->device);
}

void user_agent_parse(struct user_agent_parser *parser, const char *text, struct user_agent *out)
{
	pthread_mutex_lock(&parser->lock);
	const struct user_agent *cached = text_cache_get(parser->cache, text);
	if (cached) {
		*out = *cached;
	} else {
		match_rules(parser, text, out);
		text_cache_put(parser->cache, text, out);
	}
	pthread_mutex_unlock(&parser->lock);
}
