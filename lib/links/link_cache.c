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
#include "lib/links/link_cache_value.h"

/*
 * A value is one of three kinds:
 *
 *   5 generation version …   an entry (link_cache_value.h)
 *   ? generation             PostgreSQL has no such slug
 *   ~ generation token       a reservation for an entry that is being read or committed
 *
 * Words are separated by one space. Any other value is not ours and reads as a miss.
 */
#define UNKNOWN_KIND "?"
#define KEY_PREFIX "link:"
#define KEY_SIZE (sizeof(KEY_PREFIX) - 1 + SLUG_KEY_SIZE)
#define NUMBER_TEXT LINK_CACHE_VALUE_NUMBER_TEXT

/*
 * Common prefix of the scripts. It parses the kind, the generation and the version or token of a
 * value; nothing for a value in another format. Scripts compare versions as decimal texts without
 * leading zeros (longer is larger), because large versions would be equal as Lua's doubles.
 * KEYS[1]: the key. ARGV[1]: the generation.
 */
#define READ_OLD                                                                                   \
	"local old = redis.call('GET', KEYS[1]) "                                                  \
	"local kind, generation, rest "                                                            \
	"if old then kind, generation, rest = string.match(old, '^([5?~]) (%d+) ?(%w*)') end "     \
	"local age = kind and tonumber(ARGV[1]) - tonumber(generation) "

enum put_outcome { PUT_KEPT = 0, PUT_DONE = 1, PUT_NOTHING = 2, PUT_BEHIND = 3 };

/*
 * KEYS[2]: its exact key, with what is from before the slug was folded. Not deleted unseen: a full
 * Redis lets a script that has written write more. ARGV: generation, version, value, TTL in seconds,
 * token. If the value is empty, or memory is too short for it, the key is deleted: it may hold
 * something older.
 */
static const char put_entry_script[] = READ_OLD
	"if KEYS[2] ~= KEYS[1] and redis.call('GET', KEYS[2]) then redis.call('DEL', KEYS[2]) end "
	"if not old then return 2 end "
	"if age and age < 0 then return 3 end "
	"local here = age == 0 and kind "
	"if here == '5' and (#rest > #ARGV[2] or (#rest == #ARGV[2] and rest >= ARGV[2])) then return 0 end "
	"if ARGV[3] ~= '' and (here == '5' or (here == '~' and rest == ARGV[5])) then "
	"local outcome = redis.pcall('SET', KEYS[1], ARGV[3], 'EX', ARGV[4]) "
	"if not outcome.err then return 1 end "
	"end "
	"redis.call('DEL', KEYS[1]) "
	"return 2";

/*
 * ARGV: generation, token, value, TTL in seconds. An existing entry belongs to a link that was
 * purged, or that is being created right now. Callers read the key before they use this script.
 */
static const char put_unknown_script[] = READ_OLD
	"if kind == '5' or (kind == '~' and (age ~= 0 or rest ~= ARGV[2])) then redis.call('DEL', KEYS[1]) end "
	"if age ~= 0 or kind ~= '~' or rest ~= ARGV[2] then return 2 end "
	"local outcome = redis.pcall('SET', KEYS[1], ARGV[3], 'EX', ARGV[4]) "
	"if outcome.err then return 2 end "
	"return 1";

/* ARGV: generation, token, TTL in s, "1" to replace an unknown slug. Returns the token in place. */
static const char reserve_script[] = READ_OLD
	"if age and age < 0 then return '' end "
	"local here = age == 0 and kind "
	"if here == '~' then return rest end "
	"if here == '5' or (here == '?' and ARGV[4] ~= '1') then return '' end "
	"local outcome = redis.pcall('SET', KEYS[1], '~ ' .. ARGV[1] .. ' ' .. ARGV[2], 'EX', ARGV[3]) "
	"if outcome.err then return '' end "
	"return ARGV[2]";

struct link_cache {
	struct redis_pool *redis;
	struct link_cache_validity *validity;
	const struct log *log;
	/* Steady. */
	_Atomic int64_t next_log_us;
};

struct link_cache *link_cache_new(const struct link_cache_config *config)
{
	struct link_cache *cache = mem_zero(sizeof(*cache));
	cache->redis = config->redis;
	cache->log = config->log;
	cache->validity = link_cache_validity_new(&(struct link_cache_validity_config){
		.redis = config->redis,
		.clock = config->clock,
		.log = config->log,
		.metrics = config->metrics,
	});
	return cache;
}

void link_cache_free(struct link_cache *cache)
{
	if (!cache)
		return;
	link_cache_validity_free(cache->validity);
	free(cache);
}

void link_cache_require_generation(struct link_cache *cache, int64_t generation)
{
	link_cache_validity_require(cache->validity, generation);
}

static struct redis_arg key_of(const char *key, char name[static KEY_SIZE])
{
	size_t len = strnlen(key, SLUG_KEY_SIZE - 1);
	memcpy(mempcpy(name, KEY_PREFIX, sizeof(KEY_PREFIX) - 1), key, len);
	return (struct redis_arg){ name, sizeof(KEY_PREFIX) - 1 + len };
}

static struct redis_arg key_of_entry(const struct link_entry *entry, char name[static KEY_SIZE])
{
	char key[SLUG_KEY_SIZE];
	link_key(entry, key);
	return key_of(key, name);
}

static const char *number_of(int64_t number, char text[static NUMBER_TEXT + 1])
{
	snprintf(text, NUMBER_TEXT + 1, "%lld", (long long)number);
	return text;
}

/* --- reading --- */

static bool is_unknown_value(const char *value, size_t len, int64_t generation_now)
{
	int64_t generation = 0;
	return len > sizeof(UNKNOWN_KIND) &&
	       memcmp(value, UNKNOWN_KIND " ", sizeof(UNKNOWN_KIND)) == 0 &&
	       number_parse(value + sizeof(UNKNOWN_KIND), 0, INT64_MAX, &generation) == OK &&
	       generation == generation_now;
}

static enum link_cache_result read_value(const char *value, size_t len, int64_t generation_now,
                                         struct link_entry *out)
{
	int64_t generation = 0;
	if (!value)
		return LINK_CACHE_MISS;
	if (is_unknown_value(value, len, generation_now))
		return LINK_CACHE_UNKNOWN;
	return link_cache_value_decode(value, len, &generation, out) && generation == generation_now
	               ? LINK_CACHE_ENTRY
	               : LINK_CACHE_MISS;
}

/* Checks the validity after the reply has arrived, and for the server that sent it. */
static enum link_cache_result read_reply(const struct link_cache *cache,
                                         enum link_cache_validity_level level,
                                         const struct redis_reply *reply, uint64_t server,
                                         struct link_entry *out)
{
	struct link_cache_epoch epoch;
	if (!link_cache_validity_now(cache->validity, level, &epoch) || epoch.server != server)
		return LINK_CACHE_UNAVAILABLE;
	size_t len = 0;
	const char *value = redis_reply_bytes(reply, &len);
	return read_value(value, len, epoch.generation, out);
}

static enum link_cache_result get(struct link_cache *cache, enum link_cache_validity_level level,
                                  const char *key, struct link_entry *out)
{
	char name[KEY_SIZE];
	const struct redis_arg args[] = { REDIS_TEXT("GET"), key_of(key, name) };
	struct link_cache_epoch epoch;
	struct redis_reply *reply = NULL;
	uint64_t server = 0;
	if (!link_cache_validity_now(cache->validity, level, &epoch))
		return LINK_CACHE_UNAVAILABLE;
	if (redis_pool_call(cache->redis, args, 2, &reply, &server) != OK)
		return LINK_CACHE_UNAVAILABLE;
	enum link_cache_result result = read_reply(cache, level, reply, server, out);
	redis_reply_free(reply);
	return result;
}

enum link_cache_result link_cache_get(struct link_cache *cache, const char *key,
                                      struct link_entry *out)
{
	return get(cache, LINK_CACHE_VALIDITY_FULL, key, out);
}

enum link_cache_result link_cache_get_last_resort(struct link_cache *cache, const char *key,
                                                  struct link_entry *out)
{
	return get(cache, LINK_CACHE_VALIDITY_LAST_RESORT, key, out);
}

struct pending_get {
	struct link_cache *cache;
	link_cache_callback callback;
	void *ctx;
};

/* If Redis rejects one GET, it rejects all of them. So this logs at most once a second. */
static void log_error_reply(struct link_cache *cache, const char *error)
{
	int64_t now_us = clock_steady_us(clock_system());
	int64_t next_us = atomic_load(&cache->next_log_us);
	if (now_us >= next_us &&
	    atomic_compare_exchange_strong(&cache->next_log_us, &next_us, now_us + CLOCK_US_PER_S))
		log_warning(cache->log, "link_cache_error", LOG_TEXT("message", error));
}

static void finish_get(void *ctx, const struct redis_reply *reply, uint64_t server)
{
	struct pending_get *q = ctx;
	struct link_entry entry;
	enum link_cache_result result = LINK_CACHE_UNAVAILABLE;
	const char *error = redis_reply_error(reply);
	if (error)
		log_error_reply(q->cache, error);
	else if (reply)
		result = read_reply(q->cache, LINK_CACHE_VALIDITY_FULL, reply, server, &entry);
	q->callback(q->ctx, result, &entry);
	free(q);
}

enum err link_cache_get_async(struct link_cache *cache, struct redis_pipeline *pipeline,
                              const char *key, link_cache_callback callback, void *ctx)
{
	char name[KEY_SIZE];
	const struct redis_arg args[] = { REDIS_TEXT("GET"), key_of(key, name) };
	struct link_cache_epoch epoch;
	if (!link_cache_validity_now(cache->validity, LINK_CACHE_VALIDITY_FULL, &epoch))
		return ERR_UNAVAILABLE;
	redis_pipeline_require_run_id(pipeline, epoch.server);
	struct pending_get *q = mem_zero(sizeof(*q));
	*q = (struct pending_get){ .cache = cache, .callback = callback, .ctx = ctx };
	enum err err = redis_pipeline_call(pipeline, args, 2, finish_get, q);
	if (err != OK)
		free(q);
	return err;
}

/* --- filling --- */

static void reserve_place(struct link_cache *cache, const char *key, const char *replaces_unknown,
                          struct link_cache_reservation *out)
{
	char name[KEY_SIZE], generation[NUMBER_TEXT + 1], ttl_s[NUMBER_TEXT + 1],
		token[sizeof(out->token)];
	struct link_cache_epoch epoch;
	*out = (struct link_cache_reservation){ 0 };
	if (!link_cache_validity_now(cache->validity, LINK_CACHE_VALIDITY_FULL, &epoch))
		return;
	entropy_text("0123456789abcdef", token, sizeof(token) - 1);
	const struct redis_arg args[] = {
		key_of(key, name),
		REDIS_TEXT(number_of(epoch.generation, generation)),
		REDIS_TEXT(token),
		REDIS_TEXT(number_of(LINK_CACHE_RESERVATION_TTL_S, ttl_s)),
		REDIS_TEXT(replaces_unknown),
	};
	struct redis_reply *reply = NULL;
	uint64_t server = 0;
	if (redis_pool_script(cache->redis, reserve_script, 1, args, 5, &reply, &server) != OK)
		return;
	size_t len = 0;
	const char *given = redis_reply_bytes(reply, &len);
	if (server == epoch.server && given && len == sizeof(out->token) - 1) {
		out->generation = epoch.generation;
		memcpy(out->token, given, sizeof(out->token));
	}
	redis_reply_free(reply);
}

void link_cache_reserve(struct link_cache *cache, const char *key,
                        struct link_cache_reservation *out)
{
	reserve_place(cache, key, "", out);
}

void link_cache_reserve_for_change(struct link_cache *cache, const char *key,
                                   struct link_cache_reservation *out)
{
	reserve_place(cache, key, "1", out);
}

static int64_t jittered_ttl_s(void)
{
	return LINK_CACHE_TTL_S - LINK_CACHE_TTL_S / 10 +
	       (int64_t)entropy_below(2 * LINK_CACHE_TTL_S / 10 + 1);
}

static enum err put_value(struct link_cache *cache, int64_t generation, const char *token,
                          const struct link_entry *entry, enum put_outcome *outcome,
                          uint64_t *server)
{
	char name[KEY_SIZE], exact[KEY_SIZE], exact_key[SLUG_KEY_SIZE], of[NUMBER_TEXT + 1],
		version[NUMBER_TEXT + 1], ttl_s[NUMBER_TEXT + 1];
	struct strbuf value;
	strbuf_init(&value, LINK_CACHE_VALUE_MAX);
	if (!entry->lacks_extras)
		link_cache_value_encode(entry, generation, &value);
	slug_key(entry->slug, true, exact_key);
	const struct redis_arg args[] = {
		key_of_entry(entry, name),
		key_of(exact_key, exact),
		REDIS_TEXT(number_of(generation, of)),
		REDIS_TEXT(number_of(entry->version, version)),
		{ value.data, value.len },
		REDIS_TEXT(number_of(jittered_ttl_s(), ttl_s)),
		REDIS_TEXT(token),
	};
	struct redis_reply *reply = NULL;
	enum err err =
		redis_pool_script(cache->redis, put_entry_script, 2, args, 7, &reply, server);
	if (err == OK)
		*outcome = (enum put_outcome)redis_reply_int(reply);
	redis_reply_free(reply);
	strbuf_clear(&value);
	return err;
}

static enum err error_of(enum put_outcome outcome)
{
	if (outcome == PUT_BEHIND)
		return ERR_UNAVAILABLE;
	return outcome == PUT_KEPT ? ERR_CONFLICT : OK;
}

enum err link_cache_fill(struct link_cache *cache, const struct link_cache_reservation *reservation,
                         const struct link_entry *entry)
{
	int64_t generation = reservation->generation;
	if (generation == 0)
		generation = link_cache_validity_generation(cache->validity);
	if (generation == 0)
		return ERR_UNAVAILABLE;
	enum put_outcome outcome;
	uint64_t server;
	enum err err = put_value(cache, generation, reservation->token, entry, &outcome, &server);
	return err == OK ? error_of(outcome) : err;
}

enum err link_cache_set(struct link_cache *cache, const struct link_entry *entry)
{
	return link_cache_fill(cache, &(struct link_cache_reservation){ 0 }, entry);
}

enum err link_cache_delete(struct link_cache *cache, const char *const *slugs, size_t count)
{
	if (count == 0)
		return OK;
	char(*names)[KEY_SIZE] = mem_array(2 * count, sizeof(*names));
	struct redis_arg *args = mem_array(2 * count + 1, sizeof(*args));
	args[0] = REDIS_TEXT("DEL");
	for (size_t i = 0; i < 2 * count; i++) {
		char key[SLUG_KEY_SIZE];
		slug_key(slugs[i / 2], i % 2 == 1, key);
		args[i + 1] = key_of(key, names[i]);
	}
	enum err err = redis_pool_call(cache->redis, args, 2 * count + 1, NULL, NULL);
	free(args);
	free(names);
	return err;
}

enum err link_cache_set_in_epoch(struct link_cache *cache, const struct link_cache_epoch *to,
                                 const struct link_entry *entry)
{
	enum put_outcome outcome;
	uint64_t server;
	enum err err = put_value(cache, to->generation, "", entry, &outcome, &server);
	if (err == OK)
		err = server == to->server ? error_of(outcome) : ERR_UNAVAILABLE;
	return err;
}

enum err link_cache_fill_unknown(struct link_cache *cache,
                                 const struct link_cache_reservation *reservation, const char *key)
{
	char name[KEY_SIZE], generation[NUMBER_TEXT + 1],
		value[NUMBER_TEXT + sizeof(UNKNOWN_KIND " ")], ttl_s[NUMBER_TEXT + 1];
	number_of(reservation->generation, generation);
	snprintf(value, sizeof(value), UNKNOWN_KIND " %s", generation);
	const struct redis_arg args[] = {
		key_of(key, name),
		REDIS_TEXT(generation),
		REDIS_TEXT(reservation->token),
		REDIS_TEXT(value),
		REDIS_TEXT(number_of(LINK_CACHE_UNKNOWN_TTL_S, ttl_s)),
	};
	return redis_pool_script(cache->redis, put_unknown_script, 1, args, 5, NULL, NULL);
}
