#include "lib/links/slug.h"

#include <string.h>
#include <strings.h>

#include "lib/base/array.h"
#include "lib/base/entropy.h"
#include "lib/base/url.h"

/* Each character as an escape, and a slash. */
#define RAW_LENGTH_MAX (3 * SLUG_LENGTH_MAX + 1)

/*
 * Paths that the services, or a proxy in front of them, serve themselves. A slug cannot contain a
 * dot, so "robots" reserves the look-alike of robots.txt.
 */
static const char *const reserved[] = {
	"account", "admin",  "api",       "app",    "assets",     "auth",     "dashboard", "docs",
	"favicon", "health", "healthz",   "help",   "home",       "index",    "links",     "livez",
	"login",   "logout", "metrics",   "oauth",  "openapi",    "ping",     "problems",  "public",
	"r",       "readyz", "register",  "robots", "security",   "settings", "sitemap",   "static",
	"stats",   "status", "undefined", "null",   "well-known", "www",
};

static bool is_slug_char(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       c == '_' || c == '-';
}

bool slug_is_valid(const char *slug, size_t len)
{
	if (len < 1 || len > SLUG_LENGTH_MAX)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!is_slug_char(slug[i]))
			return false;
	}
	return true;
}

bool slug_is_reserved(const char *slug)
{
	for (size_t i = 0; i < ARRAY_SIZE(reserved); i++) {
		if (strcasecmp(slug, reserved[i]) == 0)
			return true;
	}
	return false;
}

void slug_random(char out[static SLUG_SIZE], size_t length)
{
	if (length < 1)
		length = 1;
	if (length > SLUG_LENGTH_MAX)
		length = SLUG_LENGTH_MAX;
	do {
		entropy_text("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", out,
		             length);
	} while (slug_is_reserved(out));
}

bool slug_of_path(const char *path, char out[static SLUG_SIZE])
{
	if (path[0] != '/')
		return false;
	const char *raw = path + 1;
	if (strncmp(raw, "r/", 2) == 0)
		raw += 2;
	/* A bounded length check, because the client chooses the length of the path. */
	size_t raw_len = strnlen(raw, RAW_LENGTH_MAX + 1);
	if (raw_len > RAW_LENGTH_MAX)
		return false;
	if (raw_len > 1 && raw[raw_len - 1] == '/')
		raw_len--;
	char slug[SLUG_LENGTH_MAX];
	size_t len = 0;
	for (size_t at = 0; at < raw_len;) {
		int c = url_decode_next(raw, raw_len, &at);
		if (len == SLUG_LENGTH_MAX || c < 0 || !is_slug_char((char)c))
			return false;
		slug[len++] = (char)c;
	}
	if (len == 0)
		return false;
	memcpy(out, slug, len);
	out[len] = '\0';
	return true;
}
