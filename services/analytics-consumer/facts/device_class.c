#include "services/analytics-consumer/facts/device_class.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "services/analytics-consumer/facts/words.h"

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

bool device_class_is_appliance(const char *user_agent)
{
	return words_any(user_agent, appliance_words) || is_appliance_model(user_agent);
}

/* On Android, browsers send "Mobile" on telephones only. Other programs never send it. */
static bool is_android_tablet(const char *user_agent, const char *os)
{
	return strcmp(os, "Android") == 0 && strncmp(user_agent, "Mozilla/", 8) == 0 &&
	       !strstr(user_agent, "Mobi");
}

enum device_class device_class_of(const char *user_agent, const char *os, bool is_spider)
{
	if (is_spider)
		return DEVICE_CLASS_BOT;
	if (device_class_is_appliance(user_agent))
		return DEVICE_CLASS_OTHER;
	if (words_any(user_agent, tablet_words) || is_android_tablet(user_agent, os))
		return DEVICE_CLASS_TABLET;
	if (words_begin(os, mobile_systems) || words_any(user_agent, mobile_words))
		return DEVICE_CLASS_MOBILE;
	return words_begin(os, desktop_systems) ? DEVICE_CLASS_DESKTOP : DEVICE_CLASS_OTHER;
}

const char *device_class_name(enum device_class device)
{
	switch (device) {
	case DEVICE_CLASS_DESKTOP:
		return "desktop";
	case DEVICE_CLASS_MOBILE:
		return "mobile";
	case DEVICE_CLASS_TABLET:
		return "tablet";
	case DEVICE_CLASS_BOT:
		return "bot";
	case DEVICE_CLASS_OTHER:
		break;
	}
	return "other";
}
