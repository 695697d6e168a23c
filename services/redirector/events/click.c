#include "services/redirector/events/click.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lib/base/array.h"
#include "lib/base/utf8.h"
#include "lib/clicks/referrer.h"
#include "lib/clicks/visit_event.h"
#include "lib/clicks/visitor.h"
#include "lib/http/http_query.h"
#include "lib/links/slug.h"

static bool is_loopback(const struct client_ip *ip)
{
	char text[CLIENT_IP_TEXT_SIZE];
	client_ip_format(ip, text);
	return strncmp(text, "127.", 4) == 0 || strcmp(text, "::1") == 0;
}

struct client_ip click_counted_visitor(struct http_exchange *x)
{
	struct client_ip visitor = http_exchange_client_ip(x);
	struct client_ip peer = http_exchange_peer(x);
	if (!visitor.known && is_loopback(&peer) && !http_exchange_client_ip_header(x))
		return peer;
	return visitor;
}

/* The first word decides: "prefetch", "prefetch;prerender", "prefetch, x". */
static bool begins_with_word(const char *value, const char *word)
{
	size_t len = strlen(word);
	return value && strncasecmp(value, word, len) == 0 && strchr(" \t;,", value[len]);
}

bool click_is_prefetch(const char *sec_purpose, const char *purpose, const char *x_moz)
{
	return begins_with_word(sec_purpose, "prefetch") || begins_with_word(purpose, "prefetch") ||
	       begins_with_word(purpose, "preview") || begins_with_word(x_moz, "prefetch");
}

static void copy(const char *text, char *out, size_t size)
{
	out[0] = '\0';
	if (text)
		utf8_copy_clean(text, strlen(text), out, size);
}

/* The parameters that become facts about a visit. Any other may hold a secret. */
static const char *const campaign_names[] = { "utm_source", "utm_medium", "utm_campaign" };

/* No target is longer. */
#define RAW_VALUE_SIZE 4096
#define CAMPAIGN_VALUE_SIZE sizeof(((struct visit_event *)NULL)->utm_campaign)
#define CAMPAIGN_BYTES_MAX                                                                         \
	(ARRAY_SIZE(campaign_names) * (sizeof("&utm_campaign=") + 3 * CAMPAIGN_VALUE_SIZE))
static_assert(CAMPAIGN_BYTES_MAX <= REDIRECT_EVENT_QUERY_MAX, "a campaign fits into its event");

/* Percent-encodes what would end the value or read as something else. Returns the length. */
static size_t encode_value(const char *value, char *out)
{
	static const char digits[] = "0123456789ABCDEF";
	size_t len = 0;
	for (; *value; value++) {
		unsigned char c = (unsigned char)*value;
		if (strchr("%&+#", c)) {
			out[len++] = '%';
			out[len++] = digits[c >> 4];
			out[len++] = digits[c & 15];
		} else if (c == ' ') {
			out[len++] = '+';
		} else {
			out[len++] = *value;
		}
	}
	out[len] = '\0';
	return len;
}

/* Decodes and encodes again, so that a value is cut at a character and not inside an escape. */
static void copy_campaign(const char *query, char out[static REDIRECT_EVENT_QUERY_MAX + 1])
{
	size_t len = 0;
	out[0] = '\0';
	for (size_t i = 0; query && *query && i < ARRAY_SIZE(campaign_names); i++) {
		char raw[RAW_VALUE_SIZE];
		char value[CAMPAIGN_VALUE_SIZE];
		if (http_query_value(query, campaign_names[i], raw, sizeof(raw)) != OK)
			continue;
		copy(raw, value, sizeof(value));
		len += (size_t)snprintf(out + len, REDIRECT_EVENT_QUERY_MAX + 1 - len,
		                        "%s%s=", len > 0 ? "&" : "", campaign_names[i]);
		len += encode_value(value, out + len);
	}
}

/* Of a visitor, or a program, that wrote "&" in place of "?". */
static void copy_campaign_of_path(const char *path, char out[static REDIRECT_EVENT_QUERY_MAX + 1])
{
	struct slug_path typed;
	if (slug_of_path(path, &typed))
		copy_campaign(typed.query, out);
}

static enum redirect_method method_of(enum http_method method)
{
	static const enum redirect_method methods[] = {
		[HTTP_GET] = REDIRECT_METHOD_GET,         [HTTP_HEAD] = REDIRECT_METHOD_HEAD,
		[HTTP_POST] = REDIRECT_METHOD_POST,       [HTTP_PUT] = REDIRECT_METHOD_PUT,
		[HTTP_PATCH] = REDIRECT_METHOD_PATCH,     [HTTP_DELETE] = REDIRECT_METHOD_DELETE,
		[HTTP_OPTIONS] = REDIRECT_METHOD_OPTIONS, [HTTP_OTHER] = REDIRECT_METHOD_OTHER,
	};
	return methods[method];
}

enum { SEC_PURPOSE, PURPOSE, X_MOZ, USER_AGENT, REFERER, ACCEPT_LANGUAGE, HOST, HEADERS };

static const char *const names[HEADERS] = {
	[SEC_PURPOSE] = "Sec-Purpose",         [PURPOSE] = "Purpose", [X_MOZ] = "X-Moz",
	[USER_AGENT] = "User-Agent",           [REFERER] = "Referer", [HOST] = "Host",
	[ACCEPT_LANGUAGE] = "Accept-Language",
};

#define COPY(text, member) copy((text), (member), sizeof(member))

void click_describe(struct http_exchange *x, const struct client_ip *visitor,
                    struct salt_cache *salts, struct redirect_event *event)
{
	event->occurred_at_us = http_exchange_arrived_us(x);
	event->method = method_of(http_exchange_method(x));
	const char *header[HEADERS];
	http_exchange_find_headers(x, names, header, HEADERS);
	event->prefetch = click_is_prefetch(header[SEC_PURPOSE], header[PURPOSE], header[X_MOZ]);
	COPY(header[USER_AGENT], event->user_agent);
	referrer_page(header[REFERER] ? header[REFERER] : "", event->referrer,
	              sizeof(event->referrer));
	COPY(header[ACCEPT_LANGUAGE], event->accept_language);
	COPY(header[HOST], event->host);
	copy_campaign(http_exchange_query(x), event->query);
	const char *path = http_exchange_path(x);
	if (event->query[0] == '\0' && strpbrk(path, "&%"))
		copy_campaign_of_path(path, event->query);

	struct digest_hmac_key salt;
	client_ip_network(visitor, event->client_network);
	event->has_visitor_hash =
		visitor->known && salt_cache_get(salts, event->occurred_at_us, &salt);
	if (event->has_visitor_hash)
		visitor_hash(&salt, visitor, event->user_agent, event->visitor_hash);
}
