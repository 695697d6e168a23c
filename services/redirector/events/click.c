#include "services/redirector/events/click.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/array.h"
#include "lib/base/mem.h"
#include "lib/base/thread.h"
#include "lib/base/utf8.h"
#include "lib/clicks/referrer.h"
#include "lib/clicks/salt_store.h"
#include "lib/clicks/visit_event.h"
#include "lib/http/http_query.h"
#include "lib/links/link.h"
#include "lib/links/link_forward.h"
#include "lib/links/slug.h"

static bool is_loopback(const struct client_ip *ip)
{
	static const uint8_t v4[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127 };
	static const uint8_t v6[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 };
	return memcmp(ip->bytes, v4, sizeof(v4)) == 0 || memcmp(ip->bytes, v6, sizeof(v6)) == 0;
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

/* No target is longer, and a longer value of a destination is ignored. */
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

/*
 * Adds each parameter that the event lacks. Decodes and encodes again, so that a value is cut at a
 * character and not inside an escape.
 */
static void add_campaign(const char *query, struct redirect_event *event)
{
	size_t len = strlen(event->query);
	for (size_t i = 0; i < ARRAY_SIZE(campaign_names); i++) {
		char raw[RAW_VALUE_SIZE];
		char value[CAMPAIGN_VALUE_SIZE];
		const char *name = campaign_names[i];
		if (http_query_value(event->query, name, raw, sizeof(raw)) == OK ||
		    http_query_value(query, name, raw, sizeof(raw)) != OK)
			continue;
		copy(raw, value, sizeof(value));
		len += (size_t)snprintf(event->query + len, sizeof(event->query) - len,
		                        "%s%s=", len > 0 ? "&" : "", name);
		len += encode_value(value, event->query + len);
	}
}

static void read_query(const char *query, struct redirect_event *event)
{
	if (*query == '\0')
		return;
	add_campaign(query, event);
	event->is_scan |= link_forward_is_scan(query);
}

/* Of a visitor, or a program, that wrote "&" in place of "?". */
static void read_query_of_path(const char *path, struct redirect_event *event)
{
	struct slug_path typed;
	if (slug_of_path(path, &typed) && typed.query)
		read_query(typed.query, event);
}

void click_add_campaign(const char *destination, struct redirect_event *event)
{
	char query[LINK_URL_SIZE];
	const char *begin = destination + strcspn(destination, "?#");
	if (*begin != '?' || !strstr(begin, "utm_"))
		return;
	size_t len = strcspn(++begin, "#");
	if (len >= sizeof(query))
		return;
	memcpy(query, begin, len);
	query[len] = '\0';
	add_campaign(query, event);
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
	event->referrer[0] = '\0';
	if (header[REFERER])
		referrer_page(header[REFERER], event->referrer, sizeof(event->referrer));
	COPY(header[ACCEPT_LANGUAGE], event->accept_language);
	COPY(header[HOST], event->host);
	event->query[0] = event->rule[0] = event->variant[0] = event->alias[0] = '\0';
	event->is_scan = false;
	read_query(http_exchange_query(x), event);
	const char *path = http_exchange_path(x);
	if (event->query[0] == '\0' && strpbrk(path, "&%"))
		read_query_of_path(path, event);

	struct digest_hmac_key salt;
	client_ip_network(visitor, event->client_network);
	event->has_visitor_hash =
		visitor->known && click_salts_get(salts, event->occurred_at_us, &salt);
	if (event->has_visitor_hash)
		salt_store_visitor_hash(&salt, visitor, event->user_agent, event->visitor_hash);
}

/* --- salts --- */

#define READ_EVERY_MS 60000
#define RETRY_EVERY_MS 1000
#define DAYS 3 /* yesterday, for requests that are answered after midnight; today; tomorrow */

struct salt_cache {
	struct pg_pool *postgres;
	const struct clock *clock;
	const struct log *log;
	struct thread *thread;
	/* Protects the fields below. */
	pthread_mutex_t lock;
	/* Today's salt, as last logged. */
	bool is_missing;
	size_t count;
	struct cached_salt {
		int32_t day;
		struct digest_hmac_key key;
	} salts[DAYS];
};

bool click_salts_get(struct salt_cache *cache, int64_t time_us, struct digest_hmac_key *salt)
{
	int32_t day = clock_utc_day(time_us);
	bool is_known = false;
	pthread_mutex_lock(&cache->lock);
	for (size_t i = 0; i < cache->count && !is_known; i++) {
		is_known = cache->salts[i].day == day;
		if (is_known)
			*salt = cache->salts[i].key;
	}
	pthread_mutex_unlock(&cache->lock);
	return is_known;
}

static enum err read_salts(struct salt_cache *cache, int32_t today, struct salt *salts,
                           size_t *count)
{
	struct pg_conn *conn = NULL;
	enum err err = pg_pool_acquire(cache->postgres, &conn);
	if (err != OK)
		return err;
	err = salt_store_read(conn, today - 1, today + 1, salts, count);
	pg_pool_release(cache->postgres, conn);
	return err;
}

static void log_change(struct salt_cache *cache, bool is_missing)
{
	if (is_missing && !cache->is_missing)
		log_warning(cache->log, "salt_missing");
	else if (!is_missing && cache->is_missing)
		log_info(cache->log, "salt_read");
	cache->is_missing = is_missing;
}

static void replace_salts(struct salt_cache *cache, const struct salt *salts, size_t count)
{
	explicit_bzero(cache->salts, sizeof(cache->salts));
	for (size_t i = 0; i < count; i++) {
		cache->salts[i].day = salts[i].day;
		digest_hmac_key_init(&cache->salts[i].key, salts[i].bytes, sizeof(salts[i].bytes));
	}
	cache->count = count;
}

/* A salt never outlives the day after its own, not even while PostgreSQL is down. */
static void erase_old(struct salt_cache *cache, int32_t today)
{
	size_t kept = 0;
	for (size_t i = 0; i < cache->count; i++) {
		if (cache->salts[i].day >= today - 1)
			cache->salts[kept++] = cache->salts[i];
	}
	for (size_t i = kept; i < cache->count; i++)
		explicit_bzero(&cache->salts[i], sizeof(cache->salts[i]));
	cache->count = kept;
}

/* True: today's and tomorrow's salts are known. They stay while PostgreSQL is down. */
static bool refresh(struct salt_cache *cache)
{
	struct salt salts[DAYS];
	size_t count = 0;
	int64_t now_us = clock_now_us(cache->clock);
	bool was_read = read_salts(cache, clock_utc_day(now_us), salts, &count) == OK;
	pthread_mutex_lock(&cache->lock);
	if (was_read)
		replace_salts(cache, salts, count);
	erase_old(cache, clock_utc_day(now_us));
	pthread_mutex_unlock(&cache->lock);
	struct digest_hmac_key salt;
	bool has_today = click_salts_get(cache, now_us, &salt);
	log_change(cache, !has_today);
	return has_today && click_salts_get(cache, now_us + CLOCK_US_PER_DAY, &salt);
}

static void run(void *ctx)
{
	struct salt_cache *cache = ctx;
	bool is_complete;
	do
		is_complete = refresh(cache);
	while (!thread_wait_ms(cache->thread, is_complete ? READ_EVERY_MS : RETRY_EVERY_MS));
}

struct salt_cache *click_salts_new(struct pg_pool *postgres, const struct clock *clock,
                                   const struct log *log)
{
	struct salt_cache *cache = mem_zero(sizeof(*cache));
	cache->postgres = postgres;
	cache->clock = clock;
	cache->log = log;
	pthread_mutex_init(&cache->lock, NULL);
	cache->thread = thread_new();
	thread_start(cache->thread, "salt-cache", run, cache);
	return cache;
}

void click_salts_free(struct salt_cache *cache)
{
	if (!cache)
		return;
	thread_free(cache->thread);
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}
