#include "services/links-api/media_type.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define QUALITY_MAX 1000

/*
 * How specifically a media range matches a type. The most specific range decides, whatever its
 * quality.
 */
enum specificity { SPECIFICITY_NONE, SPECIFICITY_ANY, SPECIFICITY_FAMILY, SPECIFICITY_TYPE };

struct range {
	const char *type;
	size_t len;
	int quality; /* in thousandths, so 1000 = 1.0 */
};

static size_t trimmed(const char *text, size_t len)
{
	while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\t'))
		len--;
	return len;
}

/* "0.5" → 500. An invalid value counts as 1. */
static int quality_of(const char *text, size_t len)
{
	if (len == 0 || (text[0] != '0' && text[0] != '1') || (len > 1 && text[1] != '.') ||
	    len > 5)
		return QUALITY_MAX;
	int quality = (text[0] - '0') * QUALITY_MAX;
	int unit = QUALITY_MAX / 10;
	for (size_t i = 2; i < len; i++, unit /= 10) {
		if (text[i] < '0' || text[i] > '9')
			return QUALITY_MAX;
		quality += (text[i] - '0') * unit;
	}
	return quality > QUALITY_MAX ? QUALITY_MAX : quality;
}

/* Parses one list member, such as "text/csv;q=0.5". */
static struct range parse_range(const char *member, size_t len)
{
	size_t type = strcspn(member, ";,");
	struct range range = { member, trimmed(member, type < len ? type : len), QUALITY_MAX };
	for (size_t at = type; at < len;) {
		at += 1 + strspn(member + at + 1, " \t");
		size_t param = strcspn(member + at, ";,");
		if (at + param > len)
			break;
		if (param >= 2 && (member[at] | 0x20) == 'q' && member[at + 1] == '=')
			range.quality =
				quality_of(member + at + 2, trimmed(member + at + 2, param - 2));
		at += param;
	}
	return range;
}

static enum specificity specificity_of(const struct range *range, const char *type)
{
	size_t family = strcspn(type, "/") + 1;
	if (range->len == strlen(type) && strncasecmp(range->type, type, range->len) == 0)
		return SPECIFICITY_TYPE;
	if (range->len == family + 1 && strncasecmp(range->type, type, family) == 0 &&
	    range->type[family] == '*')
		return SPECIFICITY_FAMILY;
	return range->len == 3 && memcmp(range->type, "*/*", 3) == 0 ? SPECIFICITY_ANY
	                                                             : SPECIFICITY_NONE;
}

static int quality_for(const char *accept, const char *type)
{
	enum specificity best = SPECIFICITY_NONE;
	int quality = 0;
	while (*accept) {
		accept += strspn(accept, ", \t");
		size_t len = strcspn(accept, ",");
		struct range range = parse_range(accept, len);
		enum specificity specificity =
			len > 0 ? specificity_of(&range, type) : SPECIFICITY_NONE;
		if (specificity > best) {
			best = specificity;
			quality = range.quality;
		}
		accept += len;
	}
	return quality;
}

enum err media_type_choose(const char *accept, const char *const *offered, size_t count,
                           size_t *chosen)
{
	int best = 0;
	if (accept == NULL || accept[strspn(accept, ", \t")] == '\0') {
		*chosen = 0;
		return OK;
	}
	for (size_t i = 0; i < count; i++) {
		int quality = quality_for(accept, offered[i]);
		if (quality > best) {
			best = quality;
			*chosen = i;
		}
	}
	return best > 0 ? OK : ERR_NOT_FOUND;
}
