#include "lib/links/slug.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "lib/base/array.h"
#include "lib/base/entropy.h"
#include "lib/base/url.h"

/* No server accepts a longer path. */
#define PATH_LENGTH_MAX 65536

/* Paths that the services, or a proxy in front of them, serve themselves: "robots", robots.txt. */
/* clang-format off: words */
static const char *const reserved[] = {
	"account",
	"admin",
	"ads",
	"api",
	"app",
	"app-ads",
	"apple-touch-icon",
	"apple-touch-icon-precomposed",
	"assets",
	"auth",
	"browserconfig",
	"crossdomain",
	"dashboard",
	"docs",
	"favicon",
	"health",
	"healthz",
	"help",
	"home",
	"humans",
	"index",
	"links",
	"livez",
	"login",
	"logout",
	"manifest",
	"metrics",
	"null",
	"oauth",
	"openapi",
	"ping",
	"problems",
	"public",
	"r",
	"readyz",
	"register",
	"report",
	"robots",
	"security",
	"settings",
	"site",
	"sitemap",
	"static",
	"stats",
	"status",
	"undefined",
	"well-known",
	"www",
};
/* clang-format on */

/* The character in a key; 0: no character of a slug. */
static inline char fold(unsigned c)
{
	if ((c | 0x20) - 'a' < 26)
		return (char)(c | 0x20);
	return (char)(c - '0' < 10 || c == '_' || c == '-' || c == '.' ? c : 0);
}

bool slug_is_valid(const char *slug, size_t len)
{
	if (len < 1 || len > SLUG_LENGTH_MAX || slug[0] == '.' || slug[len - 1] == '.')
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!fold((unsigned char)slug[i]))
			return false;
	}
	return true;
}

bool slug_is_reserved(const char *slug)
{
	size_t len = strcspn(slug, ".");
	for (size_t i = 0; i < ARRAY_SIZE(reserved); i++) {
		if (strncasecmp(slug, reserved[i], len) == 0 && reserved[i][len] == '\0')
			return true;
	}
	return false;
}

size_t slug_key(const char *slug, bool is_exact, char out[static SLUG_KEY_SIZE])
{
	size_t len = 0;
	if (is_exact)
		out[len++] = '=';
	for (; *slug && len < SLUG_KEY_SIZE - 1; slug++)
		out[len++] = (char)(is_exact ? *slug : fold((unsigned char)*slug));
	out[len] = '\0';
	return len;
}

bool slug_case_is_exact(const char *slug_case)
{
	return strcmp(slug_case, "exact") == 0;
}

bool slug_case_is_valid(const char *slug_case)
{
	return slug_case_is_exact(slug_case) || strcmp(slug_case, "folded") == 0;
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

/* --- paths --- */

#define NO_CHARACTER (-1)

/*
 * The next character of an escaped text of UTF-8; moves *at past it. A byte that cannot begin a
 * character, like a quote of Windows-1252, is one by itself. NO_CHARACTER: malformed.
 */
static int32_t next_character(const char *text, size_t len, size_t *at)
{
	int lead = url_decode_next(text, len, at);
	if (lead < 0xc0)
		return lead;
	int more = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : lead < 0xf8 ? 3 : 0;
	int32_t character = lead & (0x3f >> more);
	for (int i = 0; i < more; i++) {
		int byte = *at < len ? url_decode_next(text, len, at) : NO_CHARACTER;
		if (byte < 0x80 || byte >= 0xc0)
			return NO_CHARACTER;
		character = character << 6 | (byte & 0x3f);
	}
	return more > 0 ? character : NO_CHARACTER;
}

/* Punctuation, spaces, symbols and invisible characters beyond ASCII. */
static const struct {
	int32_t first, last;
} marks[] = {
	{ 0x80, 0xa9 },     { 0xab, 0xb1 },     { 0xb4, 0xb4 },       { 0xb6, 0xb8 },
	{ 0xbb, 0xbb },     { 0xbf, 0xbf },     { 0xd7, 0xd7 },       { 0xf7, 0xf7 },
	{ 0x37e, 0x37e },   { 0x387, 0x387 },   { 0x55a, 0x55f },     { 0x589, 0x58f },
	{ 0x5be, 0x5be },   { 0x5c0, 0x5c0 },   { 0x5c3, 0x5c3 },     { 0x5f3, 0x5f4 },
	{ 0x600, 0x60f },   { 0x61b, 0x61f },   { 0x66a, 0x66d },     { 0x6d4, 0x6d4 },
	{ 0x700, 0x70f },   { 0x964, 0x965 },   { 0xdf4, 0xdf4 },     { 0xe3f, 0xe3f },
	{ 0xe4f, 0xe4f },   { 0xe5a, 0xe5b },   { 0xf04, 0xf14 },     { 0x104a, 0x104f },
	{ 0x10fb, 0x10fb }, { 0x1360, 0x1368 }, { 0x1680, 0x1680 },   { 0x17d4, 0x17d6 },
	{ 0x17d8, 0x17db }, { 0x1800, 0x180e }, { 0x2000, 0x206f },   { 0x20a0, 0x20ff },
	{ 0x2116, 0x2118 }, { 0x211e, 0x2123 }, { 0x2139, 0x2139 },   { 0x2190, 0x2bff },
	{ 0x2e00, 0x2e7f }, { 0x3000, 0x3004 }, { 0x3008, 0x3020 },   { 0x3030, 0x3030 },
	{ 0x30fb, 0x30fb }, { 0xfd3e, 0xfd3f }, { 0xfe00, 0xfe6f },   { 0xfeff, 0xfeff },
	{ 0xff01, 0xff0f }, { 0xff1a, 0xff20 }, { 0xff3b, 0xff40 },   { 0xff5b, 0xff65 },
	{ 0xffe0, 0xffef }, { 0xfff9, 0xfffd }, { 0x1f000, 0x1faff }, { 0xe0020, 0xe007f },
};

static bool is_mark(int32_t c)
{
	if (c > 0 && c < 0x80)
		return c != '+' && c != '%' && (c == '.' || !fold(c));
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		if (c >= marks[i].first && c <= marks[i].last)
			return true;
	}
	return false;
}

/* Whether what follows a slug is not part of it. */
static bool is_ending(const char *text, size_t len, const char **query)
{
	int32_t before = 0;
	for (size_t at = 0; at < len;) {
		int32_t c = next_character(text, len, &at);
		/* "&amp;" is how HTML writes "&". */
		if (c == '&' || c == '?')
			*query = text + at + (strncmp(text + at, "amp;", 4) == 0 ? 4 : 0);
		if (c == '&' || c == '?' || c == '#' || c == '<')
			return true;
		/* "/." and "/.." are other paths. */
		if (!is_mark(c) || (c == '.' && before == '/'))
			return false;
		before = c;
	}
	return true;
}

/* Reads the slug at the start of a path; *end is what follows it. False: there is none. */
static bool read_slug(const char *path, struct slug_path *out, const char **end)
{
	size_t len = 0, at = 0;
	out->query = out->rest = "";
	out->is_preview = false;
	if (path[0] != '/')
		return false;
	const char *raw = path + strspn(path, "/");
	if (strncmp(raw, "r/", 2) == 0)
		raw += 2 + strspn(raw + 2, "/");
	for (;;) {
		size_t next = at + 1;
		unsigned c = (unsigned char)raw[at];
		if (c == '%') {
			next = at;
			c = (unsigned)url_decode_next(raw, strnlen(raw, at + 3), &next);
		}
		char folded = fold(c);
		if (!folded)
			break;
		if (len == SLUG_LENGTH_MAX && c == '.')
			break;
		if (len == SLUG_LENGTH_MAX)
			return false;
		out->slug[len] = (char)c;
		out->key[len++] = folded;
		at = next;
	}
	while (len > 0 && out->slug[len - 1] == '.')
		len--;
	out->slug[len] = out->key[len] = '\0';
	out->len = len;
	*end = raw + at;
	return len > 0 && out->slug[0] != '.';
}

static bool is_end(const char *text, const char **query)
{
	return *text == '\0' || is_ending(text, strnlen(text, PATH_LENGTH_MAX), query);
}

bool slug_of_path(const char *path, struct slug_path *out)
{
	const char *end;
	return read_slug(path, out, &end) && is_end(end, &out->query);
}

bool slug_of_longer_path(const char *path, struct slug_path *out)
{
	const char *end;
	if (!read_slug(path, out, &end) || slug_is_reserved(out->slug))
		return false;
	if (*end == '/')
		out->rest = end;
	else if (*end == '+' || strncasecmp(end, "%2b", 3) == 0)
		out->is_preview = is_end(end + (*end == '+' ? 1 : 3), &out->query);
	return out->rest[0] != '\0' || out->is_preview;
}
