#include "lib/links/link_cache.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/entropy.h"
#include "lib/base/mem.h"
#include "lib/base/number.h"
#include "lib/base/strbuf.h"

/*
 * The value of an entry is text:
 *
 *   1 version id state redirect_status expires_at_us original_url_len original_url expired_url
 *
 * with one space between numbers, and one before original_url; none between the two URLs. "1" is the number of this
 * form: a value of another form is no entry, and any set replaces it. "?" says that PostgreSQL has no such slug.
 */
#define FORM "1"
#define UNKNOWN "?"
#define KEY_PREFIX "link:"
#define KEY_SIZE (sizeof(KEY_PREFIX) + SLUG_LENGTH_MAX)
#define NUMBERS 6
#define NUMBER_TEXT 20
#define VALUE_MAX (sizeof(FORM) + (size_t)NUMBERS * (NUMBER_TEXT + 1) + 2 * (size_t)LINK_URL_MAX)

/*
 * Versions are compared as decimal texts without leading zeroes (longer is larger): Lua's numbers are doubles, in which
 * large versions would be equal. KEYS: the key. ARGV: the version, the value, the seconds it lives.
 */
static const char set_if_newer[] =
	"local old = redis.call('GET', KEYS[1]) "
	"local version = old and string.match(old, '^" FORM " (%d+) ') "
	"if version and (#version > #ARGV[1] or (#version == #ARGV[1] and version >= ARGV[1])) "
	"then return 0 end "
	"redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3]) "
	"return 1";

static void encode(const struct link_entry *entry, struct strbuf *out)
{
	strbuf_add_format(out, FORM " %lld %lld %d %d %lld %zu ", (long long)entry->version, (long long)entry->id,
	                  (int)entry->state, (int)entry->redirect_status, (long long)entry->expires_at_us,
	                  strlen(entry->original_url));
	strbuf_add_text(out, entry->original_url);
	strbuf_add_text(out, entry->expired_url);
}

/* Reads digits and the space behind them; NULL when they are not of that form. */
static const char *read_number(const char *at, const char *end, int64_t *out)
{
	const char *space = memchr(at, ' ', (size_t)(end - at));
	if (!space || space - at >= NUMBER_TEXT)
		return NULL;
	char digits[NUMBER_TEXT];
	memcpy(digits, at, (size_t)(space - at));
	digits[space - at] = '\0';
	return number_parse(digits, 0, INT64_MAX, out) == OK ? space + 1 : NULL;
}

static bool decode(const char *value, size_t len, struct link_entry *out)
{
	const char *end = value + len;
	if (len < sizeof(FORM) || memcmp(value, FORM " ", sizeof(FORM)) != 0 || memchr(value, '\0', len))
		return false;
	const char *at = value + sizeof(FORM);
	int64_t number[NUMBERS];
	for (size_t i = 0; i < NUMBERS; i++) {
		at = read_number(at, end, &number[i]);
		if (!at)
			return false;
	}
	int64_t version = number[0], id = number[1], state = number[2], status = number[3], url_len = number[5];
	int64_t expired_url_len = end - at - url_len;
	if (version < 1 || id < 1 || state < LINK_STATE_ACTIVE || state > LINK_STATE_DELETED ||
	    !link_redirect_status_is_valid(status) || url_len < 1 || url_len > LINK_URL_MAX || expired_url_len < 0 ||
	    expired_url_len > LINK_URL_MAX)
		return false;
	out->version = version;
	out->id = id;
	out->state = (enum link_state)state;
	out->redirect_status = (uint16_t)status;
	out->expires_at_us = number[4];
	snprintf(out->original_url, sizeof(out->original_url), "%.*s", (int)url_len, at);
	snprintf(out->expired_url, sizeof(out->expired_url), "%.*s", (int)expired_url_len, at + url_len);
	return true;
}

struct link_cache {
	struct redis_pool *redis;
	const struct log *log;
	_Atomic int64_t log_again_us; /* steady */
};

struct link_cache *link_cache_new(struct redis_pool *redis, const struct log *log)
{
	struct link_cache *cache = mem_zero(sizeof(*cache));
	cache->redis = redis;
	cache->log = log;
	return cache;
}

void link_cache_free(struct link_cache *cache)
{
	free(cache);
}

/* Cut at the longest slug: a longer one is nobody's. */
static struct redis_arg key_of(const char *slug, char key[static KEY_SIZE])
{
	snprintf(key, KEY_SIZE, KEY_PREFIX "%s", slug);
	return REDIS_TEXT(key);
}

static enum link_cache_answer read_value(const struct link_cache *cache, const char *value, size_t len,
                                         struct link_entry *out)
{
	if (!value)
		return LINK_CACHE_MISS;
	if (len == strlen(UNKNOWN) && memcmp(value, UNKNOWN, len) == 0)
		return LINK_CACHE_UNKNOWN;
	struct link_entry entry = { 0 };
	if (!decode(value, len, &entry)) {
		log_warning(cache->log, "link_cache_value_malformed", LOG_INT("bytes", len));
		return LINK_CACHE_MISS;
	}
	*out = entry;
	return LINK_CACHE_ENTRY;
}

static enum link_cache_answer read_reply(const struct link_cache *cache, const struct redis_reply *reply,
                                         const char *slug, struct link_entry *out)
{
	size_t len = 0;
	const char *value = redis_reply_bytes(reply, &len);
	enum link_cache_answer answer = read_value(cache, value, len, out);
	if (answer == LINK_CACHE_ENTRY)
		snprintf(out->slug, sizeof(out->slug), "%s", slug);
	return answer;
}

enum link_cache_answer link_cache_get(struct link_cache *cache, const char *slug, struct link_entry *out)
{
	char key[KEY_SIZE];
	const struct redis_arg args[] = { REDIS_TEXT("GET"), key_of(slug, key) };
	struct redis_reply *reply = NULL;
	if (redis_pool_call(cache->redis, args, 2, &reply) != OK)
		return LINK_CACHE_AWAY;
	enum link_cache_answer answer = read_reply(cache, reply, slug, out);
	redis_reply_free(reply);
	return answer;
}

struct question {
	struct link_cache *cache;
	link_cache_told told;
	void *ctx;
	char slug[SLUG_SIZE];
};

/* A Redis that refuses one GET refuses all of them: one line a second says it. */
static void log_refusal(struct link_cache *cache, const char *error)
{
	int64_t now_us = clock_steady_us(clock_system());
	int64_t again_us = atomic_load(&cache->log_again_us);
	if (now_us >= again_us &&
	    atomic_compare_exchange_strong(&cache->log_again_us, &again_us, now_us + CLOCK_US_PER_S))
		log_warning(cache->log, "link_cache_refused", LOG_TEXT("message", error));
}

static void answer_question(void *ctx, const struct redis_reply *reply, uint64_t server)
{
	(void)server;
	struct question *q = ctx;
	struct link_entry entry;
	enum link_cache_answer answer = LINK_CACHE_AWAY;
	const char *error = redis_reply_error(reply);
	if (error)
		log_refusal(q->cache, error);
	else if (reply)
		answer = read_reply(q->cache, reply, q->slug, &entry);
	q->told(q->ctx, answer, &entry);
	free(q);
}

enum err link_cache_ask(struct link_cache *cache, struct redis_pipeline *pipeline, const char *slug,
                        link_cache_told told, void *ctx)
{
	char key[KEY_SIZE];
	const struct redis_arg args[] = { REDIS_TEXT("GET"), key_of(slug, key) };
	struct question *q = mem_zero(sizeof(*q));
	*q = (struct question){ .cache = cache, .told = told, .ctx = ctx };
	snprintf(q->slug, sizeof(q->slug), "%s", slug);
	enum err err = redis_pipeline_call(pipeline, args, 2, answer_question, q);
	if (err != OK)
		free(q);
	return err;
}

static int64_t jittered_ttl_s(void)
{
	return LINK_CACHE_TTL_S - LINK_CACHE_TTL_S / 10 + (int64_t)entropy_below(2 * LINK_CACHE_TTL_S / 10 + 1);
}

enum err link_cache_set(struct link_cache *cache, const struct link_entry *entry)
{
	char key[KEY_SIZE], version[NUMBER_TEXT + 1], ttl_s[NUMBER_TEXT + 1];
	snprintf(version, sizeof(version), "%lld", (long long)entry->version);
	snprintf(ttl_s, sizeof(ttl_s), "%lld", (long long)jittered_ttl_s());
	struct strbuf value;
	strbuf_init(&value, VALUE_MAX);
	encode(entry, &value);
	const struct redis_arg args[] = {
		key_of(entry->slug, key),
		REDIS_TEXT(version),
		{ value.data, value.len },
		REDIS_TEXT(ttl_s),
	};
	struct redis_reply *reply = NULL;
	enum err err = redis_pool_script(cache->redis, set_if_newer, 1, args, 4, &reply);
	if (err == OK && redis_reply_int(reply) == 0)
		err = ERR_CONFLICT;
	redis_reply_free(reply);
	strbuf_clear(&value);
	return err;
}

enum err link_cache_set_unknown(struct link_cache *cache, const char *slug)
{
	char key[KEY_SIZE], ttl_s[NUMBER_TEXT + 1];
	snprintf(ttl_s, sizeof(ttl_s), "%d", LINK_CACHE_UNKNOWN_TTL_S);
	const struct redis_arg args[] = {
		REDIS_TEXT("SET"), key_of(slug, key), REDIS_TEXT(UNKNOWN),
		REDIS_TEXT("EX"),  REDIS_TEXT(ttl_s), REDIS_TEXT("NX"),
	};
	return redis_pool_call(cache->redis, args, sizeof(args) / sizeof(args[0]), NULL);
}
