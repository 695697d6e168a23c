#include "services/redirector/events/click.h"

#include <string.h>
#include <strings.h>

#include "lib/base/utf8.h"
#include "lib/clicks/visitor.h"

struct client_ip click_visitor(struct http_exchange *x, const struct client_ip_ranges *trusted)
{
	struct client_ip peer = http_exchange_peer(x);
	if (!client_ip_ranges_contain(trusted, &peer))
		return peer;
	return client_ip_of_request(&peer, http_exchange_joined_header(x, "X-Forwarded-For"),
	                            trusted);
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
	event->method =
		http_exchange_method(x) == HTTP_HEAD ? REDIRECT_METHOD_HEAD : REDIRECT_METHOD_GET;
	const char *header[HEADERS];
	http_exchange_find_headers(x, names, header, HEADERS);
	event->prefetch = click_is_prefetch(header[SEC_PURPOSE], header[PURPOSE], header[X_MOZ]);
	COPY(header[USER_AGENT], event->user_agent);
	COPY(header[REFERER], event->referrer);
	COPY(header[ACCEPT_LANGUAGE], event->accept_language);
	COPY(header[HOST], event->host);
	COPY(http_exchange_query(x), event->query);

	struct digest_hmac_key salt;
	client_ip_network(visitor, event->client_network);
	event->has_visitor_hash =
		visitor->known && salt_cache_get(salts, event->occurred_at_us, &salt);
	if (event->has_visitor_hash)
		visitor_hash(&salt, visitor, event->user_agent, event->visitor_hash);
}
