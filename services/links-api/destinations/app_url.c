#include "services/links-api/destinations/app_url.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "lib/base/array.h"
#include "lib/base/env.h"
#include "lib/base/utf8.h"

#define HEX "0123456789ABCDEF"

bool app_url_scheme_is_valid(const char *scheme)
{
	static const char *const never[] = {
		"about", "blob", "data",       "file",     "filesystem", "http",
		"https", "jar",  "javascript", "resource", "vbscript",   "view-source",
	};
	size_t len = strlen(scheme);
	for (size_t i = 0; i < ARRAY_SIZE(never); i++)
		if (strcmp(scheme, never[i]) == 0)
			return false;
	return len >= 1 && len <= APP_URL_SCHEME_MAX && islower((unsigned char)scheme[0]) &&
	       strspn(scheme, "abcdefghijklmnopqrstuvwxyz0123456789+.-") == len;
}

/* The length of the scheme that text begins with, one of schemes; 0: none. */
static size_t find_scheme(const char *schemes, const char *text, size_t len)
{
	for (size_t entry; (entry = env_next_entry(&schemes)) > 0; schemes += entry)
		if (len > entry && text[entry] == ':' && strncasecmp(text, schemes, entry) == 0)
			return entry;
	return 0;
}

enum err app_url_parse(const char *schemes, const char *text, size_t len,
                       char out[static LINK_URL_SIZE], const char **reason)
{
	size_t scheme = find_scheme(schemes, text, len), written = 0;
	if (scheme == 0)
		return ERR_NOT_FOUND;
	*reason = !utf8_is_valid(text, len) ? "is not valid UTF-8"
	          : memchr(text, '\\', len) ? "contains a backslash"
	          : len == scheme + 1       ? "has nothing after its scheme"
	                                    : NULL;
	for (size_t i = 0; !*reason && i < len; i++) {
		unsigned char c = (unsigned char)text[i];
		if (written + 3 > LINK_URL_MAX) {
			*reason = "must have at most 8192 bytes";
		} else if (c < ' ' || c == 0x7f) {
			*reason = "contains a control character";
		} else if (c <= ' ' || c > '~' || strchr("\"<>", c)) {
			out[written++] = '%';
			out[written++] = HEX[c >> 4];
			out[written++] = HEX[c & 15];
		} else {
			out[written++] = (char)(i < scheme ? tolower(c) : c);
		}
	}
	out[written] = '\0';
	return *reason ? ERR_INVALID : OK;
}
