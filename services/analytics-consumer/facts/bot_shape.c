#include "services/analytics-consumer/facts/bot_shape.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#define LABELS_MAX 8

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

bool bot_shape_has_mail_address(const char *text)
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

bool bot_shape_has_site(const char *text)
{
	for (const char *at = text; *at; at++) {
		if (!is_label_byte(*at) ||
		    (at > text && (is_label_byte(at[-1]) || strchr("._@=%/", at[-1]))))
			continue;
		const struct host host = read_host(at);
		char end = at[host.len];
		if (ends_in_domain(&host) && !is_app(&host) && end != '.' && end != '_' &&
		    !bot_shape_is_android_model(text, (size_t)(at - text)))
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

bool bot_shape_has_foreign_part(const char *text)
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

bool bot_shape_is_android_model(const char *text, size_t at)
{
	const char *system = strstr(text, "android ");
	const char *model = system ? strchr(system, ';') : NULL;
	if (!model || at < (size_t)(model - text))
		return false;
	size_t end = (size_t)(model - text) + strcspn(model, "/)");
	return at < end && !strstr(text, "compatible;");
}

bool bot_shape_has_no_engine(const char *text)
{
	if (strncmp(text, product, strlen(product)) != 0)
		return false;
	for (size_t i = 0; engines[i]; i++) {
		if (strstr(text, engines[i]))
			return false;
	}
	return true;
}
