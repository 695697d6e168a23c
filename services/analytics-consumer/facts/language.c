#include "services/analytics-consumer/facts/language.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

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

void language_of(const char *accept_language, char *out, size_t size)
{
	int best = 0;
	struct http_accept_item item;
	out[0] = '\0';
	while (http_accept_next(&accept_language, &item)) {
		size_t primary = primary_length(item.name, item.len);
		if (item.weight <= best || primary == 0 || primary >= size)
			continue;
		best = item.weight;
		for (size_t i = 0; i < primary; i++)
			out[i] = (char)tolower((unsigned char)item.name[i]);
		out[primary] = '\0';
	}
}
