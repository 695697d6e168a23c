#include "services/links-api/public_base.h"

#include <stdio.h>
#include <string.h>

#include "services/links-api/destination.h"

enum err public_base_init(struct public_base *base, const char *url, const char **reason)
{
	struct destination read;
	enum err err = destination_parse(url, strlen(url), &read, reason);
	if (err != OK)
		return err;
	if (read.url[read.query]) {
		*reason = "has a query or a fragment";
		return ERR_INVALID;
	}
	size_t len = read.query;
	while (len > 0 && read.url[len - 1] == '/')
		len--;
	if (len > PUBLIC_BASE_URL_MAX) {
		*reason = "is too long";
		return ERR_INVALID;
	}
	*base = (struct public_base){ .host = read.host, .port = read.port };
	memcpy(base->url, read.url, len);
	return OK;
}

bool public_base_owns(const struct public_base *base, const struct destination_host *host, uint16_t port)
{
	return destination_host_equal(&base->host, host) && (!host->is_address || base->port == port);
}

void public_base_short_url(const struct public_base *base, const char *slug,
                           char out[static PUBLIC_BASE_SHORT_URL_SIZE])
{
	snprintf(out, PUBLIC_BASE_SHORT_URL_SIZE, "%s/%s", base->url, slug);
}
