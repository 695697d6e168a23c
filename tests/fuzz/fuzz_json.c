/*
 * Untrusted JSON bodies, and how each endpoint parses them. Accepted JSON is written and parsed
 * back to the same value. An accepted link or host is one that the stores would accept. A rejected
 * one has a reason.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/base/utf8.h"
#include "lib/http/http_internal.h"
#include "lib/json/json.h"
#include "lib/links/host_guard.h"
#include "services/links-api/accounts/credentials.h"
#include "services/links-api/destinations/destination.h"
#include "services/links-api/http/handlers.h"
#include "services/links-api/identity/api_key.h"
#include "services/links-api/identity/user_store.h"
#include "services/links-api/links/link_bulk.h"
#include "services/links-api/links/link_notes_store.h"
#include "services/links-api/links/link_request.h"
#include "tests/support/clock_fake.h"

#define NOW_US INT64_C(1795161600000000) /* 2026-11-20T08:00:00Z */
#define TEXT_BYTES_MAX (1024 * 1024)
#define BASE                                                                                       \
	{                                                                                          \
		.url = "https://wm.example", .host = { "wm.example", false }, .port = 443,         \
		.schemes = "", .destination_bytes_max = LINK_URL_MAX                               \
	}
#define ITEMS_MAX 16 /* each takes 27 KB */

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
	require(destination_parse(url, strlen(url), &read, &reason) == OK &&
	        strcmp(read.url, url) == 0);
}

static void require_good(const struct link_request *wish)
{
	if (wish->members & LINK_REQUEST_ORIGINAL_URL)
		require_normal(wish->original_url);
	if (wish->expired_url)
		require_normal(wish->expired_url);
	if (wish->members & LINK_REQUEST_SLUG)
		require(slug_is_valid(wish->slug, strlen(wish->slug)) &&
		        !slug_is_reserved(wish->slug));
	if (wish->members & LINK_REQUEST_REDIRECT_STATUS)
		require(link_redirect_status_is_valid(wish->redirect_status));
	require(wish->expires_at_us == 0 || wish->expires_at_us > NOW_US);
	require(wish->starts_at_us >= 0);
	require(wish->expires_at_us == 0 || wish->starts_at_us < wish->expires_at_us);
	require(wish->tags.count <= LINK_TAGS_MAX);
	require(!wish->notes || strlen(wish->notes) <= (size_t)LINK_NOTES_CHARS_MAX * 4);
}

static void try_link(const struct json *body, enum link_request_kind kind)
{
	const struct public_base base = BASE;
	struct link_request wish;
	struct http_problem_fields wrong = { 0 };
	enum err err = link_request_read(body, kind, &base, NOW_US, &wish, &wrong);
	require((err == OK) == (wrong.count == 0));
	if (err != OK)
		return;
	require_good(&wish);
	link_request_clear(&wish);
}

static void try_host(const struct json *body)
{
	struct blocked_host host;
	struct http_problem_fields wrong = { 0 };
	enum err err = host_handlers_read_body(body, &host, &wrong);
	require((err == OK) == (wrong.count == 0));
	if (err != OK)
		return;
	struct host_policy *policy = host_policy_new();
	require(host_policy_add(policy, HOST_POLICY_BLOCKLIST, host.host, strlen(host.host)) == OK);
	host_policy_free(policy);
}

static void try_key(const struct json *body)
{
	struct api_key key = { 0 };
	struct http_problem_fields wrong = { 0 };
	enum err err = api_key_read_body(body, NOW_US, &key, &wrong);
	require((err == OK) == (wrong.count == 0));
	if (err != OK)
		return;
	require(key.name[0] != '\0' && key.scopes != 0 && (key.scopes & ~SCOPE_ALL) == 0);
	require(key.expires_at_us == 0 || key.expires_at_us > NOW_US);
}

static void try_user_change(const struct json *body)
{
	struct user_change change = { 0 };
	struct http_problem_fields wrong = { 0 };
	enum err err = admin_handlers_read_user_change(body, &change, &wrong);
	require((err == OK) == (wrong.count == 0));
	if (err == OK && change.has_links_per_day)
		require(change.links_per_day == ENV_UNLIMITED ||
		        (change.links_per_day >= USER_STORE_NO_QUOTA &&
		         change.links_per_day <= USER_STORE_LINKS_PER_DAY_MAX));
}

static bool is_password(const char *text)
{
	size_t len = strlen(text);
	return utf8_length(text, len) >= PASSWORD_CHARS_MIN && len <= PASSWORD_BYTES_MAX;
}

/* For a new password and for closing an account. */
static void try_proofs(const struct json *body)
{
	char old[PASSWORD_SIZE] = "", new[PASSWORD_SIZE] = "";
	struct http_problem_fields wrong = { 0 }, wrong_end = { 0 };
	enum err err = credentials_read_password(body, "current_password", "new_password", old, new,
	                                         &wrong);
	require((err == OK) == (wrong.count == 0));
	require(err != OK || (is_password(old) && is_password(new)));
	err = credentials_read_password(body, "password", NULL, old, new, &wrong_end);
	require((err == OK) == (wrong_end.count == 0));
	require(err != OK || is_password(old));
}

/* Problems of an item are in its own result; the bulk accepts any item. */
static void try_items(const struct json *body, enum link_bulk_kind kind)
{
	const struct json *items = json_get(body, "links");
	if (!items || json_type(items) != JSON_ARRAY || json_count(items) < 1 ||
	    json_count(items) > ITEMS_MAX)
		return;
	struct clock_fake clock;
	clock_fake_init(&clock, NOW_US);
	struct public_base base = BASE;
	const struct config config = { 0 };
	const struct api api = { .config = &config, .clock = &clock.clock, .base = &base };
	struct http_exchange *exchange = mem_zero(sizeof(*exchange));
	struct request request = { .api = &api, .exchange = exchange, .user_id = 1 };
	link_bulk_free(link_bulk_new(&request, kind, items));
	free(exchange);
}

static void try_body(const struct json *body)
{
	struct http_problem_fields wrong = { 0 };
	struct credentials credentials = { 0 };
	try_key(body);
	try_user_change(body);
	try_proofs(body);
	try_items(body, LINK_BULK_CREATE);
	try_items(body, LINK_BULK_SYNC);
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
