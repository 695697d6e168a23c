#include "services/links-api/identity/same_origin.h"

#include <string.h>
#include <strings.h>

/* The rest of origin after its scheme, or NULL. */
static const char *skip_scheme(const char *origin, bool needs_https)
{
	static const char https[] = "https://", http[] = "http://";
	if (strncmp(origin, https, strlen(https)) == 0)
		return origin + strlen(https);
	if (!needs_https && strncmp(origin, http, strlen(http)) == 0)
		return origin + strlen(http);
	return NULL;
}

static bool is_own_origin(const struct same_origin_headers *headers, bool needs_https)
{
	const char *sender = skip_scheme(headers->origin, needs_https);
	return sender && headers->host && *sender && strcasecmp(sender, headers->host) == 0;
}

bool same_origin_permits(const struct same_origin_headers *headers, bool is_read, bool needs_https)
{
	if (headers->fetch_site)
		return strcmp(headers->fetch_site, "same-origin") == 0 ||
		       (is_read && strcmp(headers->fetch_site, "none") == 0);
	return headers->origin ? is_own_origin(headers, needs_https) : is_read;
}
