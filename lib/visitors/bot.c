#include "lib/visitors/bot.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define LABELS_MAX 8

/*
 * Of bot_words.txt (data.cmake), which end with NULL. All words are in lower case: the header is
 * converted to lower case before the search.
 */
extern const char *const bot_words_previews[];
extern const char *const bot_words_libraries[];
extern const char *const bot_words_crawlers[];

/* Match anywhere, but not on telephones, where people scan with apps (CamScanner). */
static const char *const scanner_words[] = { "scanner", "scanning", NULL };

/* Headers of browsers begin like this. */
static const char *const browsers[] = {
	"amaya/",   "dillo/", "elinks", "links ", "lynx/", "mozilla/",
	"netsurf/", "opera",  "ucweb/", "w3m/",   NULL,
};

static const char product[] = "mozilla/5.0";

/* Top-level domains in which makers of automation have their sites. */
static const char *const domains[] = {
	"ai",  "app", "at",   "au", "be",   "biz",  "br",  "ca",  "ch",  "cloud", "cn",
	"co",  "com", "cz",   "de", "dev",  "dk",   "edu", "es",  "eu",  "fi",    "fr",
	"gov", "in",  "info", "io", "it",   "jp",   "me",  "net", "nl",  "no",    "org",
	"pl",  "pt",  "ru",   "se", "site", "tech", "uk",  "us",  "xyz", NULL,
};

/* The first word of the comment that names the system. */
static const char *const systems[] = {
	"windows", "win",     "macintosh", "x11",     "wayland", "linux", "compatible",
	"ubuntu",  "freebsd", "openbsd",   "netbsd",  "sunos",   "haiku", "beos",
	"os/2",    "amiga",   "cros",      "morphos", "macos",   "mac",   "android",
	"fedora",  "debian",  "pc",        NULL,
};

static const char *const engines[] = {
	"applewebkit", "gecko", "khtml",    "trident", "presto",
	"msie",        "opera", "netfront", "polaris", NULL,
};

/*
 * Shapes that browsers of people never have, because browsers follow one grammar:
 * "Mozilla/5.0 (system) engine/1 (KHTML, like Gecko) name/1 name/1".
 */

/* True if byte at belongs to the name of an Android device: "M bot 60" is a telephone. */
static bool is_android_model(const char *text, size_t at)
{
	const char *system = strstr(text, "android ");
	const char *model = system ? strchr(system, ';') : NULL;
	if (!model || at < (size_t)(model - text))
		return false;
	size_t end = (size_t)(model - text) + strcspn(model, "/)");
	return at < end && !strstr(text, "compatible;");
}

static bool is_one_of(const char *text, size_t len, const char *const *words)
{
	for (size_t i = 0; words[i]; i++) {
		if (strlen(words[i]) == len && strncmp(words[i], text, len) == 0)
			return true;
	}
	return false;
}

static bool is_label_byte(char c)
{
	return isalnum((unsigned char)c) || c == '-';
}

/* A host name that begins at text. */
struct host {
	size_t len, labels;
	/* Labels. */
	const char *first, *last;
	size_t first_len, last_len;
};

static struct host read_host(const char *text)
{
	struct host host = { .first = text };
	for (const char *label = text; is_label_byte(*label) && host.labels < LABELS_MAX;) {
		size_t len = 0;
		while (is_label_byte(label[len]))
			len++;
		if (host.labels == 0)
			host.first_len = len;
		host.labels++;
		host.last = label;
		host.last_len = len;
		host.len = (size_t)(label - text) + len;
		label += len;
		if (*label != '.')
			break;
		label++;
	}
	return host;
}

static bool ends_in_domain(const struct host *host)
{
	return host->labels > 1 && is_one_of(host->last, host->last_len, domains);
}

/* "me@example.com", but not "ar_sa@calendar=gregorian", "600000@taobao_android" or "app@1.2.3". */
static bool has_mail_address(const char *text)
{
	for (const char *at = text; (at = strchr(at, '@')); at++) {
		if (at == text || !isalnum((unsigned char)at[-1]))
			continue;
		const struct host host = read_host(at + 1);
		if (host.labels > 1 && host.last_len > 1 && isalpha((unsigned char)host.last[0]))
			return true;
	}
	return false;
}

/* "com.example.app": the name of an app begins with a domain. */
static bool is_app(const struct host *host)
{
	return is_one_of(host->first, host->first_len, domains);
}

/* "example.com", "+devin.ai" and "feeder.co", but not "com.example.app" or "build/ap3a.240617". */
static bool has_site(const char *text)
{
	for (const char *at = text; *at; at++) {
		if (!is_label_byte(*at) ||
		    (at > text && (is_label_byte(at[-1]) || strchr("._@=%/", at[-1]))))
			continue;
		const struct host host = read_host(at);
		char end = at[host.len];
		if (ends_in_domain(&host) && !is_app(&host) && end != '.' && end != '_' &&
		    !is_android_model(text, (size_t)(at - text)))
			return true;
	}
	return false;
}

/* The first byte after a comment: at is "(". */
static const char *skip_comment(const char *at)
{
	int depth = 0;
	for (; *at; at++) {
		depth += *at == '(';
		depth -= *at == ')';
		if (depth == 0)
			return at + 1;
	}
	return at;
}

static bool names_a_system(const char *comment)
{
	size_t len = strcspn(comment, " ;)");
	return len == 0 || is_one_of(comment, len, systems);
}

/* "safari/537.36; name/1.0": browsers put semicolons only into comments. "[" begins an app's data. */
static bool has_semicolon_after_product(const char *at)
{
	bool is_product = false;
	while (*at && *at != '[') {
		if (*at == ';' && is_product)
			return strchr(at, '/') != NULL;
		if (*at == '(') {
			at = skip_comment(at);
			is_product = false;
			continue;
		}
		is_product = *at == '/' || (is_product && !strchr(" ;", *at));
		at++;
	}
	return false;
}

/*
 * True if the header of a computer's browser has a part that browsers do not add:
 *   something before "mozilla/5.0"       page-preview-tool Mozilla/5.0 (…
 *   a semicolon after a product          … Safari/537.36; Manus-User/1.0
 *   a first word that names no system    Mozilla/5.0 (watchTowr; Windows NT 10.0; …
 */
static bool has_foreign_part(const char *text)
{
	const char *begin = strstr(text, product);
	const char *comment = begin ? strchr(begin, '(') : NULL;
	if (!comment)
		return false;
	if (begin > text && isalnum((unsigned char)*text))
		return true;
	if (has_semicolon_after_product(skip_comment(comment)))
		return true;
	bool is_modern = strstr(comment, "chrome/") || strstr(comment, "firefox/");
	return is_modern && !names_a_system(comment + 1);
}

/* True if it begins like a browser and has no engine: "mozilla/5.0 keydrop". */
static bool has_no_engine(const char *text)
{
	return strncmp(text, product, strlen(product)) == 0 && !user_agent_contains(text, engines);
}

/* "SomeBot/1.0" and "robots", but neither "botany" nor a telephone ("Cubot", "M bot 60"). */
static bool contains_bot(const char *text)
{
	for (const char *at = text; (at = strstr(at, "bot")); at += 3) {
		const char *end = at + 3;
		end += *end == 's';
		bool is_cubot = at - text >= 2 && strncmp(at - 2, "cu", 2) == 0;
		if (!is_cubot && !isalpha((unsigned char)*end) &&
		    !is_android_model(text, (size_t)(at - text)))
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

static bool is_crawler(const char *text, enum user_agent_device device, bool is_appliance)
{
	if (user_agent_contains(text, bot_words_crawlers) || contains_bot(text) || has_site(text) ||
	    has_mail_address(text) || ends_in_agent(text))
		return true;
	bool is_handheld = device == USER_AGENT_MOBILE || device == USER_AGENT_TABLET;
	if (!is_handheld && user_agent_contains(text, scanner_words))
		return true;
	if (device == USER_AGENT_DESKTOP && has_foreign_part(text))
		return true;
	if (device == USER_AGENT_OTHER && !is_appliance && has_no_engine(text))
		return true;
	return device == USER_AGENT_OTHER && strstr(text, "(compatible;") && !strstr(text, "msie");
}

/* "SomeApp/1.0". Software for people names at least its operating system. */
static bool names_no_system(const char *text, enum user_agent_device device, bool is_appliance)
{
	return !is_appliance && device == USER_AGENT_OTHER && text[0] != '\0' &&
	       !user_agent_begins_with(text, browsers);
}

/* What extensions add to the header of a person's browser: "… Initiator: https://shop.example". */
static const char *const page_fields[] = { " initiator: ", " referer: ", " referrer: ", " origin: ",
	                                   NULL };

static void cut_page(char *text)
{
	for (size_t i = 0; page_fields[i]; i++) {
		char *field = strstr(text, page_fields[i]);
		if (field && strncmp(text, product, strlen(product)) == 0)
			*field = '\0';
	}
}

static void make_lower(const char *text, char out[static REDIRECT_EVENT_USER_AGENT_MAX + 1])
{
	size_t len = 0;
	for (; len < REDIRECT_EVENT_USER_AGENT_MAX && text[len] != '\0'; len++)
		out[len] = (char)tolower((unsigned char)text[len]);
	out[len] = '\0';
}

const char *bot_agent_reason(const char *user_agent, enum user_agent_device device)
{
	char text[REDIRECT_EVENT_USER_AGENT_MAX + 1] = { 0 };
	make_lower(user_agent, text);
	cut_page(text);
	if (user_agent_contains(text, bot_words_previews))
		return "link_preview";
	if (device == USER_AGENT_BOT)
		return "crawler";
	if (user_agent_begins_with(text, bot_words_libraries))
		return "http_library";
	bool is_appliance = user_agent_is_appliance(user_agent);
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
	bool wants_no_page =
		event->method == REDIRECT_METHOD_HEAD || event->method == REDIRECT_METHOD_OPTIONS;
	return wants_no_page ? "head" : "";
}
