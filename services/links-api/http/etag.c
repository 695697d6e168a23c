#include "services/links-api/http/etag.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void etag_format(int64_t version, char out[static ETAG_SIZE])
{
	snprintf(out, ETAG_SIZE, "\"v%" PRId64 "\"", version);
}

/* Returns true if the list contains the tag or "*". */
static bool has_tag(const char *list, const char *wanted, bool allow_weak)
{
	size_t wanted_len = strlen(wanted);
	while (*list) {
		list += strspn(list, " \t,");
		size_t len = strcspn(list, ",");
		const char *tag = list;
		size_t tag_len = len;
		while (tag_len > 0 && (tag[tag_len - 1] == ' ' || tag[tag_len - 1] == '\t'))
			tag_len--;
		if (allow_weak && tag_len > 2 && memcmp(tag, "W/", 2) == 0) {
			tag += 2;
			tag_len -= 2;
		}
		if (tag_len == 1 && *tag == '*')
			return true;
		if (tag_len == wanted_len && memcmp(tag, wanted, wanted_len) == 0)
			return true;
		list += len;
	}
	return false;
}

/* The length of the entity tag at the beginning of the text, or 0. */
static size_t tag_length(const char *text)
{
	size_t len = strncmp(text, "W/", 2) == 0 ? 2 : 0;
	if (text[len] != '"')
		return 0;
	len += 1 + strcspn(text + len + 1, "\"");
	return text[len] == '"' ? len + 1 : 0;
}

bool etag_list_is_valid(const char *header)
{
	static const char separators[] = " \t,";
	const char *at = header + strspn(header, separators);
	if (*at == '*')
		return at[1 + strspn(at + 1, " \t")] == '\0';
	for (;;) {
		size_t len = tag_length(at);
		size_t gap = strspn(at + len, separators);
		if (len == 0 || at[len + gap] == '\0')
			return len > 0;
		if (!memchr(at + len, ',', gap))
			return false;
		at += len + gap;
	}
}

bool etag_if_match(const char *header, int64_t version)
{
	char wanted[ETAG_SIZE];
	etag_format(version, wanted);
	return !header || has_tag(header, wanted, false);
}

bool etag_if_none_match(const char *header, const char *etag)
{
	return !header || !has_tag(header, etag, true);
}
