/*
 * Host lists, as in the files of operators, and URLs checked against them. The first byte chooses
 * the kind of list. The lines up to the first empty one are rules; the rest is a URL. An accepted
 * rule must match its own host.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/links/host_policy.h"

#define URL_SIZE (HOST_POLICY_NAME_MAX + 64)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static enum host_policy_decision check_host(const struct host_policy *policy, const char *host,
                                            size_t len)
{
	char url[URL_SIZE];
	snprintf(url, sizeof(url), "https://%.*s:8443/x", (int)len, host);
	return host_policy_check(policy, url);
}

static void try_rule(const char *rule, size_t len)
{
	if (len == 0)
		return;
	struct host_policy *policy = host_policy_new();
	if (host_policy_add(policy, HOST_POLICY_BLOCKLIST, rule, len) == OK) {
		bool has_below = rule[0] == '.';
		require(host_policy_count(policy) == 1 &&
		        len - has_below <= HOST_POLICY_NAME_MAX + 1);
		require(check_host(policy, rule + has_below, len - has_below) ==
		        HOST_POLICY_BLOCKED);
	}
	host_policy_free(policy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	enum host_policy_kind kind = data[0] == 'a' ? HOST_POLICY_ALLOWLIST : HOST_POLICY_BLOCKLIST;
	const char *list = (const char *)data + 1;
	const char *end = memmem(list, size - 1, "\n\n", 2);
	size_t list_len = end ? (size_t)(end - list) : size - 1;
	char *url =
		end ? mem_text_n(end + 2, size - 3 - list_len) : mem_text("https://example.com/");
	size_t line = 0;
	struct host_policy *policy = host_policy_new();
	enum err err = host_policy_add_list(policy, kind, list, list_len, &line);
	require(err == OK || line > 0);
	enum host_policy_decision decision = host_policy_check(policy, url);
	require(decision == HOST_POLICY_ALLOWED || host_policy_count(policy) > 0);
	require(decision !=
	        (kind == HOST_POLICY_ALLOWLIST ? HOST_POLICY_BLOCKED : HOST_POLICY_NOT_ALLOWED));
	const char *line_end = memchr(list, '\n', list_len);
	try_rule(list, line_end ? (size_t)(line_end - list) : list_len);
	host_policy_free(policy);
	free(url);
	return 0;
}
