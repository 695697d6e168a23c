/*
 * Untrusted destinations. An accepted destination is its own normal form, consists of complete
 * parts and has no byte that a header or a browser could read differently. host_policy.h, which
 * parses the host from the URL itself, finds the same host.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/links/host_policy.h"
#include "services/links-api/destinations/destination.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void require_normal(const struct destination *d)
{
	struct destination again;
	const char *reason = NULL;
	require(destination_parse(d->url, strlen(d->url), &again, &reason) == OK);
	require(strcmp(again.url, d->url) == 0 && strcmp(again.host.text, d->host.text) == 0);
	require(again.port == d->port && again.path == d->path && again.query == d->query);
	require(again.fragment == d->fragment && again.host.is_address == d->host.is_address);
}

static void require_complete(const struct destination *d)
{
	size_t len = strlen(d->url);
	require(len > 0 && len <= LINK_URL_MAX);
	for (size_t i = 0; i < len; i++)
		require(d->url[i] > ' ' && d->url[i] < 0x7f && d->url[i] != '\\');
	require(d->url[d->path] == '/' && d->path <= d->query && d->query <= d->fragment &&
	        d->fragment <= len);
	require(d->query == d->fragment || d->url[d->query] == '?');
	require(d->fragment == len || d->url[d->fragment] == '#');
	require(!memchr(d->url, '@', d->path) && d->port > 0 && d->host.text[0] != '\0');
}

/* An IPv4 host is the same host in its IPv6 forms. */
static void require_blockable_in_ipv6(const struct host_policy *policy, const struct destination *d)
{
	static const char *const prefixes[] = { "::ffff:", "64:ff9b::" };
	if (!d->host.is_address || d->host.text[0] == '[')
		return;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		char url[LINK_URL_MAX];
		struct destination mapped;
		const char *reason = NULL;
		int len = snprintf(url, sizeof(url), "http://[%s%s]/", prefixes[i], d->host.text);
		require(destination_parse(url, (size_t)len, &mapped, &reason) == OK);
		require(destination_host_equal(&mapped.host, &d->host));
		require(host_policy_check(policy, mapped.url) == HOST_POLICY_BLOCKED);
	}
}

static void require_blockable(const struct destination *d)
{
	struct host_policy *policy = host_policy_new();
	require(host_policy_add(policy, HOST_POLICY_BLOCKLIST, d->host.text,
	                        strlen(d->host.text)) == OK);
	require(host_policy_check(policy, d->url) == HOST_POLICY_BLOCKED);
	require_blockable_in_ipv6(policy, d);
	host_policy_free(policy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct destination d;
	const char *reason = NULL;
	if (destination_parse((const char *)data, size, &d, &reason) != OK) {
		require(reason);
		return 0;
	}
	require_complete(&d);
	require_normal(&d);
	require_blockable(&d);
	return 0;
}
