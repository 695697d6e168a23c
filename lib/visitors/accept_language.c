#include "lib/visitors/accept_language.h"

#include <ctype.h>
#include <stdbool.h>

#include "lib/http/http_accept.h"

#define PRIMARY_LENGTH_MIN 2
#define PRIMARY_LENGTH_MAX 8

/* The length of the primary subtag, or 0 when there is none. */
static size_t primary_length(const char *range, size_t len)
{
	size_t n = 0;
	while (n < len && isalpha((unsigned char)range[n]))
		n++;
	bool ends = n == len || range[n] == '-';
	return ends && n >= PRIMARY_LENGTH_MIN && n <= PRIMARY_LENGTH_MAX ? n : 0;
}

size_t accept_language_preferred(const char *accept_language,
                                 char range[static ACCEPT_LANGUAGE_RANGE_SIZE])
{
	int best = 0;
	size_t best_primary = 0;
	struct http_accept_item item;
	range[0] = '\0';
	while (http_accept_next(&accept_language, &item)) {
		size_t primary = primary_length(item.name, item.len);
		if (item.weight <= best || primary == 0)
			continue;
		best = item.weight;
		best_primary = primary;
		size_t len = 0;
		for (; len < item.len && len < ACCEPT_LANGUAGE_RANGE_SIZE - 1; len++)
			range[len] = (char)tolower((unsigned char)item.name[len]);
		range[len] = '\0';
	}
	return best_primary;
}
