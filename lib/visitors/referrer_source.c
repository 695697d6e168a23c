#include "lib/visitors/referrer_source.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BRAND_SIZE 32

static int compare(const void *host, const void *element)
{
	const struct referrer_source_pair *pair = element;
	return strcmp(host, pair->host);
}

static const char *find(const char *host)
{
	const struct referrer_source_pair *found =
		bsearch(host, referrer_source_table, referrer_source_table_size,
	                sizeof(*referrer_source_table), compare);
	return found ? found->name : NULL;
}

static bool is_country_label(const char *text)
{
	return islower((unsigned char)text[0]) && islower((unsigned char)text[1]) &&
	       text[2] == '\0';
}

/* "com", "de", "co.uk", "com.br" */
static bool is_country_suffix(const char *text)
{
	if (strcmp(text, "com") == 0 || is_country_label(text))
		return true;
	return (strncmp(text, "co.", 3) == 0 && is_country_label(text + 3)) ||
	       (strncmp(text, "com.", 4) == 0 && is_country_label(text + 4));
}

/* "google.*" for "google.co.uk" */
static const char *find_brand(const char *host)
{
	char brand[BRAND_SIZE];
	const char *dot = strchr(host, '.');
	if (!dot || !is_country_suffix(dot + 1) || dot - host + 3 > BRAND_SIZE)
		return NULL;
	snprintf(brand, sizeof(brand), "%.*s.*", (int)(dot - host), host);
	return find(brand);
}

const char *referrer_source_of(const char *host)
{
	while (*host) {
		const char *name = find(host);
		if (!name)
			name = find_brand(host);
		if (name)
			return name;
		host += strcspn(host, ".");
		host += *host == '.';
	}
	return "";
}
