#include "services/analytics-consumer/facts/device_class.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* uap-core's device family for crawlers. */
static const char spider[] = "Spider";

/*
 * Words of devices that are neither computers nor telephones, although they may run the same
 * operating systems.
 */
static const char *const appliance_words[] = { "TV",    "Xbox",    "PlayStation", "Nintendo",
	                                       "Roku/", "CrKey",   "BRAVIA",      "AFTMM",
	                                       "AFTT ", "watchOS", "Apple Watch", NULL };
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

static bool has_any(const char *text, const char *const *words)
{
	for (size_t i = 0; words[i]; i++) {
		if (strstr(text, words[i]))
			return true;
	}
	return false;
}

static bool begins_with_any(const char *text, const char *const *beginnings)
{
	for (size_t i = 0; beginnings[i]; i++) {
		if (strncmp(text, beginnings[i], strlen(beginnings[i])) == 0)
			return true;
	}
	return false;
}

/*
 * On Android, browsers send "Mobile" only on telephones. Programs that are not browsers never send
 * it.
 */
static bool is_android_tablet(const char *user_agent, const char *os)
{
	return strcmp(os, "Android") == 0 && strncmp(user_agent, "Mozilla/", 8) == 0 &&
	       !strstr(user_agent, "Mobi");
}

enum device_class device_class_of(const char *user_agent, const char *os, const char *device)
{
	if (strcmp(device, spider) == 0)
		return DEVICE_CLASS_BOT;
	if (has_any(user_agent, appliance_words))
		return DEVICE_CLASS_OTHER;
	if (has_any(user_agent, tablet_words) || is_android_tablet(user_agent, os))
		return DEVICE_CLASS_TABLET;
	if (begins_with_any(os, mobile_systems) || has_any(user_agent, mobile_words))
		return DEVICE_CLASS_MOBILE;
	return begins_with_any(os, desktop_systems) ? DEVICE_CLASS_DESKTOP : DEVICE_CLASS_OTHER;
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
