#include "services/links-api/destinations/public_base.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/base/env.h"
#include "lib/links/host_policy.h"
#include "services/links-api/destinations/destination.h"

enum err public_base_init(struct public_base *base, const char *url, const char **reason)
{
	struct destination parsed;
	enum err err = destination_parse(url, strlen(url), &parsed, reason);
	if (err != OK)
		return err;
	if (parsed.url[parsed.query]) {
		*reason = "has a query or a fragment";
		return ERR_INVALID;
	}
	size_t len = parsed.path;
	if (parsed.query - parsed.path > strlen("/")) {
		*reason = "has a path, but redirectors answer at https://HOST/SLUG";
		return ERR_INVALID;
	}
	*base = (struct public_base){ .host = parsed.host,
		                      .port = parsed.port,
		                      .schemes = "",
		                      .destination_bytes_max = LINK_URL_MAX,
		                      .slug_length_max = SLUG_LENGTH_MAX };
	memcpy(base->url, parsed.url, len);
	return OK;
}

enum err public_base_parse_aliases(const char *list, struct host_policy **out)
{
	struct host_policy *aliases = host_policy_new();
	for (size_t len; (len = env_next_entry(&list)) > 0; list += len) {
		enum err err = host_policy_add(aliases, HOST_POLICY_BLOCKLIST, list, len);
		if (err != OK) {
			host_policy_free(aliases);
			return ERR_INVALID;
		}
	}
	*out = aliases;
	return OK;
}

bool public_base_owns(const struct public_base *base, const struct destination_host *host,
                      uint16_t port)
{
	if (destination_host_equal(&base->host, host))
		return !host->is_address || base->port == port;
	char url[sizeof(host->text) + sizeof("https:///")];
	snprintf(url, sizeof(url), "https://%s/", host->text);
	return base->aliases && host_policy_check(base->aliases, url) == HOST_POLICY_BLOCKED;
}

void public_base_short_url(const struct public_base *base, const char *slug,
                           char out[static PUBLIC_BASE_SHORT_URL_SIZE])
{
	snprintf(out, PUBLIC_BASE_SHORT_URL_SIZE, "%s/%s", base->url, slug);
}

const char *public_base_skip(const struct public_base *base, const char *text)
{
	const char *bare = strstr(base->url, "://") + strlen("://");
	const char *prefix = strstr(text, "://") ? base->url : bare;
	size_t len = strlen(prefix);
	bool is_ours = strncasecmp(text, prefix, len) == 0 && text[len] == '/' && text[len + 1];
	return is_ours ? text + len + 1 : NULL;
}
