/*
 * JSON bodies of strangers, and what each endpoint makes of them. What is taken for JSON is written and read again as
 * the same; what is taken for a link or a host is one that the stores would take; what is refused has a reason.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/net/json.h"
#include "services/links-api/accounts/credentials.h"
#include "services/links-api/destinations/destination.h"
#include "services/links-api/destinations/host_request.h"
#include "services/links-api/links/link_request.h"

#define NOW_US INT64_C(1795161600000000) /* 2026-11-20T08:00:00Z */
#define TEXT_BYTES_MAX (1024 * 1024)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static char *written(const struct json *value, size_t *len)
{
	struct strbuf out;
	strbuf_init(&out, TEXT_BYTES_MAX);
	json_write(value, &out);
	require(strbuf_status(&out) == OK);
	char *text = strbuf_take(&out, len);
	strbuf_clear(&out);
	return text;
}

static void require_same_again(const struct json *value)
{
	size_t len, again_len;
	char reason[JSON_REASON_SIZE];
	struct json *copy;
	char *text = written(value, &len);
	require(json_parse(text, len, &copy, reason) == OK);
	char *again = written(copy, &again_len);
	require(len == again_len && memcmp(text, again, len) == 0);
	free(text);
	free(again);
	json_free(copy);
}

static void require_normal(const char *url)
{
	struct destination read;
	const char *reason = NULL;
	require(destination_parse(url, strlen(url), &read, &reason) == OK && strcmp(read.url, url) == 0);
}

static void require_good(const struct link_request *wish)
{
	if (wish->members & LINK_REQUEST_ORIGINAL_URL)
		require_normal(wish->original_url);
	if (wish->expired_url[0] != '\0')
		require_normal(wish->expired_url);
	if (wish->members & LINK_REQUEST_SLUG)
		require(slug_is_valid(wish->slug, strlen(wish->slug)) && !slug_is_reserved(wish->slug));
	if (wish->members & LINK_REQUEST_REDIRECT_STATUS)
		require(link_redirect_status_is_valid(wish->redirect_status));
	require(wish->expires_at_us == 0 || wish->expires_at_us > NOW_US);
	require(wish->tags.count <= LINK_TAGS_MAX);
}

static void try_link(const struct json *body, enum link_request_kind kind)
{
	const struct public_base base = { .url = "https://wm.example", .host = { "wm.example", false }, .port = 443 };
	struct link_request wish;
	struct http_problem_fields wrong = { 0 };
	enum err err = link_request_read(body, kind, &base, NOW_US, &wish, &wrong);
	require((err == OK) == (wrong.count == 0));
	if (err == OK)
		require_good(&wish);
}

static void try_host(const struct json *body)
{
	struct blocked_host host;
	struct http_problem_fields wrong = { 0 };
	enum err err = host_request_read(body, &host, &wrong);
	require((err == OK) == (wrong.count == 0));
	if (err != OK)
		return;
	struct host_policy *policy = host_policy_new();
	require(host_policy_add(policy, HOST_POLICY_BLOCK, host.host, strlen(host.host)) == OK);
	host_policy_free(policy);
}

static void try_body(const struct json *body)
{
	struct http_problem_fields wrong = { 0 };
	struct credentials credentials = { 0 };
	try_link(body, LINK_REQUEST_CREATE);
	try_link(body, LINK_REQUEST_CREATE_PUBLIC);
	try_link(body, LINK_REQUEST_CHANGE);
	try_host(body);
	enum err err = credentials_read(body, true, &credentials, &wrong);
	require((err == OK) == (wrong.count == 0));
	credentials_wipe(&credentials);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct json *value;
	char reason[JSON_REASON_SIZE] = "";
	if (json_parse((const char *)data, size, &value, reason) != OK) {
		require(reason[0] != '\0');
		return 0;
	}
	require_same_again(value);
	if (json_type(value) == JSON_OBJECT)
		try_body(value);
	json_free(value);
	return 0;
}
