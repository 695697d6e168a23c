#include "services/links-api/http/media_type.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "lib/http/http_accept.h"

/* How closely a media range matches a type. The closest decides, whatever its quality. */
enum specificity { SPECIFICITY_NONE, SPECIFICITY_ANY, SPECIFICITY_FAMILY, SPECIFICITY_TYPE };

static enum specificity specificity_of(const struct http_accept_item *range, const char *type)
{
	size_t family = strcspn(type, "/") + 1;
	if (http_accept_is(range, type))
		return SPECIFICITY_TYPE;
	if (range->len == family + 1 && strncasecmp(range->name, type, family) == 0 &&
	    range->name[family] == '*')
		return SPECIFICITY_FAMILY;
	return http_accept_is(range, "*/*") ? SPECIFICITY_ANY : SPECIFICITY_NONE;
}

/* In thousandths. A malformed quality counts as 1. */
static int quality_for(const char *accept, const char *type)
{
	enum specificity best = SPECIFICITY_NONE;
	int quality = 0;
	struct http_accept_item range;
	while (http_accept_next(&accept, &range)) {
		enum specificity specificity = specificity_of(&range, type);
		if (specificity > best) {
			best = specificity;
			quality = range.weight < 0 ? HTTP_ACCEPT_WEIGHT_MAX : range.weight;
		}
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
