#include "services/links-api/lists/list_cache.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/entropy.h"
#include "lib/base/mem.h"

#define NUMBER_KEY_SIZE 48
#define NUMBER_DIGITS 16
#define TTL_SIZE 24

enum result { HIT, MISS, BYPASS, RESULTS };

static const char *const labels[RESULTS] = { "result=\"hit\"", "result=\"miss\"",
	                                     "result=\"bypass\"" };

struct list_cache {
	struct redis_pool *redis;
	const struct link_cache *links;
	struct metric *results[RESULTS];
};

struct list_cache *list_cache_new(struct redis_pool *redis, const struct link_cache *links,
                                  struct metrics *metrics)
{
	struct list_cache *cache = mem_zero(sizeof(*cache));
	cache->redis = redis;
	cache->links = links;
	for (size_t i = 0; i < RESULTS; i++)
		cache->results[i] = metrics_counter(
			metrics, "waymark_list_cache_total",
			"Requests for a page of a link list, by result of the cache", labels[i]);
	return cache;
}

void list_cache_free(struct list_cache *cache)
{
	free(cache);
}

static struct redis_arg number_key(int64_t user_id, char key[static NUMBER_KEY_SIZE])
{
	snprintf(key, NUMBER_KEY_SIZE, "list_generation:%" PRId64, user_id);
	return REDIS_TEXT(key);
}

static struct redis_arg seconds(int64_t ttl_s, char text[static TTL_SIZE])
{
	snprintf(text, TTL_SIZE, "%" PRId64, ttl_s);
	return REDIS_TEXT(text);
}

static bool is_number(const char *text, size_t len)
{
	return text && len == NUMBER_DIGITS && strspn(text, "0123456789abcdef") == len;
}

/* --- reading --- */

/*
 * Reads the owner's number, or draws one if there is none, in one command. False: Redis failed, or
 * the key holds something else.
 */
static bool read_number(const struct list_cache *cache, int64_t user_id, uint64_t server,
                        char out[static NUMBER_DIGITS + 1])
{
	char key[NUMBER_KEY_SIZE], ttl_s[TTL_SIZE];
	entropy_text("0123456789abcdef", out, NUMBER_DIGITS);
	const struct redis_arg args[] = {
		REDIS_TEXT("SET"),
		number_key(user_id, key),
		REDIS_TEXT(out),
		REDIS_TEXT("NX"),
		REDIS_TEXT("GET"),
		REDIS_TEXT("EX"),
		seconds(LIST_CACHE_NUMBER_TTL_S, ttl_s),
	};
	struct redis_reply *reply = NULL;
	uint64_t answering = 0;
	if (redis_pool_call_with_run_id(cache->redis, args, 7, &reply, &answering) != OK)
		return false;
	size_t len = 0;
	const char *old = redis_reply_bytes(reply, &len);
	bool is_known = answering == server && (redis_reply_is_nil(reply) || is_number(old, len));
	if (is_known && old)
		memcpy(out, old, NUMBER_DIGITS);
	redis_reply_free(reply);
	return is_known;
}

static bool belongs_to(const struct list_page *page, int64_t user_id)
{
	for (size_t i = 0; i < page->count; i++) {
		if (page->links[i].owner_id != user_id ||
		    page->links[i].entry.state == LINK_STATE_DELETED)
			return false;
	}
	return true;
}

static enum result check_reply(const struct list_cache *cache,
                               const struct link_cache_epoch *before,
                               const struct redis_reply *reply, int64_t user_id,
                               struct list_page *out)
{
	struct link_cache_epoch trusted;
	/* Checked again after the reply: the content may have become invalid since the request. */
	if (!link_cache_current_epoch(cache->links, &trusted) || trusted.server != before->server ||
	    trusted.generation != before->generation)
		return BYPASS;
	size_t len = 0;
	const char *value = redis_reply_bytes(reply, &len);
	if (value && list_page_decode(value, len, out) == OK && belongs_to(out, user_id))
		return HIT;
	out->count = 0;
	return MISS;
}

static enum result read_page(const struct list_cache *cache, const struct link_cache_epoch *before,
                             const char *key, int64_t user_id, struct list_page *out)
{
	const struct redis_arg args[] = { REDIS_TEXT("GET"), REDIS_TEXT(key) };
	struct redis_reply *reply = NULL;
	uint64_t server = 0;
	if (redis_pool_call_with_run_id(cache->redis, args, 2, &reply, &server) != OK)
		return BYPASS;
	enum result result =
		server == before->server ? check_reply(cache, before, reply, user_id, out) : BYPASS;
	redis_reply_free(reply);
	return result;
}

static enum result look_up(const struct list_cache *cache, int64_t user_id,
                           const struct link_list_params *params, struct list_page *out,
                           struct list_cache_slot *slot)
{
	struct link_cache_epoch before;
	char number[NUMBER_DIGITS + 1];
	if (!link_cache_current_epoch(cache->links, &before) ||
	    !read_number(cache, user_id, before.server, number))
		return BYPASS;
	snprintf(slot->key, sizeof(slot->key),
	         "list:%" PRId64 ":%" PRId64 ":%s:%" PRId64 ":%" PRId64, before.generation, user_id,
	         number, params->page, params->limit);
	return read_page(cache, &before, slot->key, user_id, out);
}

bool list_cache_get(struct list_cache *cache, int64_t user_id,
                    const struct link_list_params *params, struct list_page *out,
                    struct list_cache_slot *slot)
{
	*slot = (struct list_cache_slot){ 0 };
	enum result result = look_up(cache, user_id, params, out, slot);
	metrics_add(cache->results[result], 1);
	if (result != MISS)
		*slot = (struct list_cache_slot){ 0 };
	return result == HIT;
}

/* --- writing --- */

static bool is_past_the_last(const struct list_page *page)
{
	return page->count == 0 && page->total > 0;
}

void list_cache_put(struct list_cache *cache, const struct list_cache_slot *slot,
                    const struct list_page *page)
{
	char ttl_s[TTL_SIZE];
	if (!slot->key[0] || is_past_the_last(page))
		return;
	struct strbuf value;
	strbuf_init(&value, LIST_PAGE_BYTES_MAX);
	list_page_encode(page, &value);
	if (strbuf_status(&value) == OK) {
		const struct redis_arg args[] = { REDIS_TEXT("SET"),
			                          REDIS_TEXT(slot->key),
			                          { value.data, value.len },
			                          REDIS_TEXT("EX"),
			                          seconds(LIST_CACHE_TTL_S, ttl_s) };
		enum err err = redis_pool_call(cache->redis, args, 5, NULL);
		(void)err; /* the next request reads PostgreSQL again */
	}
	strbuf_clear(&value);
}

static enum err delete_number(const struct list_cache *cache, int64_t owner_id, uint64_t *server)
{
	char key[NUMBER_KEY_SIZE];
	const struct redis_arg args[] = { REDIS_TEXT("DEL"), number_key(owner_id, key) };
	return redis_pool_call_with_run_id(cache->redis, args, 2, NULL, server);
}

enum err list_cache_invalidate(struct list_cache *cache, int64_t owner_id)
{
	uint64_t server;
	return owner_id ? delete_number(cache, owner_id, &server) : OK;
}

enum err list_cache_invalidate_on(struct list_cache *cache, uint64_t server, int64_t owner_id)
{
	uint64_t answering = 0;
	enum err err = owner_id ? delete_number(cache, owner_id, &answering) : OK;
	return err == OK && owner_id && answering != server ? ERR_UNAVAILABLE : err;
}
