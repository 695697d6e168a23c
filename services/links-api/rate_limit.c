#include "services/links-api/rate_limit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define KEY_SIZE (RATE_LIMIT_SUBJECT_MAX + 64)

/*
 * KEYS[1]: the counter. ARGV[1]: the maximum. ARGV[2]: the window in ms. Returns {count including
 * this event, ms until the window ends}; count 0 means not counted.
 */
static const char take_script[] =
	"local count = tonumber(redis.call('GET', KEYS[1]) or '0')\n"
	"local left = redis.call('PTTL', KEYS[1])\n"
	"if count >= tonumber(ARGV[1]) and left > 0 then return {0, left} end\n"
	"if left <= 0 then\n"
	"  redis.call('SET', KEYS[1], 1, 'PX', ARGV[2])\n"
	"  return {1, tonumber(ARGV[2])}\n"
	"end\n"
	"return {redis.call('INCR', KEYS[1]), left}\n";

static const char refund_script[] = "local count = tonumber(redis.call('GET', KEYS[1]) or '0')\n"
				    "if count > 0 then redis.call('DECR', KEYS[1]) end\n"
				    "return 0\n";

/*
 * KEYS[1]: the counter. KEYS[2]: the reservations, scored by their expiry in ms. ARGV[1]: the
 * maximum. ARGV[2]: the id. ARGV[3]: the lifetime of a reservation in ms. Returns {1, 0} if
 * reserved, {0, ms until the window ends} if the counter is full, {-1, 0} if reservations fill the
 * rest.
 */
static const char reserve_script[] =
	"local count = tonumber(redis.call('GET', KEYS[1]) or '0')\n"
	"local left = redis.call('PTTL', KEYS[1])\n"
	"if left <= 0 then count = 0 end\n"
	"if count >= tonumber(ARGV[1]) then return {0, left} end\n"
	"local time = redis.call('TIME')\n"
	"local now = time[1] * 1000 + math.floor(time[2] / 1000)\n"
	"redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)\n"
	"local held = redis.call('ZCARD', KEYS[2])\n"
	"if count + held >= tonumber(ARGV[1]) then return {-1, 0} end\n"
	"redis.call('ZADD', KEYS[2], now + tonumber(ARGV[3]), ARGV[2])\n"
	"redis.call('PEXPIRE', KEYS[2], ARGV[3])\n"
	"return {1, 0}\n";

/* KEYS: as above. ARGV[1]: the id. ARGV[2]: the window in ms if the event counts, otherwise 0. */
static const char end_reservation_script[] =
	"redis.call('ZREM', KEYS[2], ARGV[1])\n"
	"if tonumber(ARGV[2]) == 0 then return 0 end\n"
	"if redis.call('PTTL', KEYS[1]) > 0 then return redis.call('INCR', KEYS[1]) end\n"
	"redis.call('SET', KEYS[1], 1, 'PX', ARGV[2])\n"
	"return 1\n";

static void make_key(const struct rate_limit_rule *rule, const char *subject,
                     char key[static KEY_SIZE])
{
	snprintf(key, KEY_SIZE, "limit:%s:%s", rule->name, subject);
}

enum err rate_limit_take_with_state(struct redis_pool *redis, const struct rate_limit_rule *rule,
                                    const char *subject, struct rate_limit_state *state)
{
	*state = (struct rate_limit_state){ .left = rule->max, .reset_s = rule->window_s };
	if (rule->max == 0)
		return OK;
	char key[KEY_SIZE];
	char max[24];
	char window_ms[24];
	make_key(rule, subject, key);
	snprintf(max, sizeof(max), "%" PRId64, rule->max);
	snprintf(window_ms, sizeof(window_ms), "%" PRId64, rule->window_s * 1000);

	const struct redis_arg args[] = { REDIS_TEXT(key), REDIS_TEXT(max), REDIS_TEXT(window_ms) };
	struct redis_reply *reply = NULL;
	if (redis_pool_script(redis, take_script, 1, args, 3, &reply) != OK)
		return OK;
	enum err err = OK;
	if (redis_reply_count(reply) == 2) {
		int64_t counted = redis_reply_int(redis_reply_at(reply, 0));
		state->left = counted > 0 && counted < rule->max ? rule->max - counted : 0;
		state->reset_s = (redis_reply_int(redis_reply_at(reply, 1)) + 999) / 1000;
		err = counted > 0 ? OK : ERR_LIMIT;
	}
	redis_reply_free(reply);
	return err;
}

enum err rate_limit_take(struct redis_pool *redis, const struct rate_limit_rule *rule,
                         const char *subject, int64_t *reset_s)
{
	struct rate_limit_state state;
	enum err err = rate_limit_take_with_state(redis, rule, subject, &state);
	if (err == ERR_LIMIT)
		*reset_s = state.reset_s;
	return err;
}

void rate_limit_refund(struct redis_pool *redis, const struct rate_limit_rule *rule,
                       const char *subject)
{
	if (rule->max == 0)
		return;
	char key[KEY_SIZE];
	make_key(rule, subject, key);
	const struct redis_arg args[] = { REDIS_TEXT(key) };
	enum err err = redis_pool_script(redis, refund_script, 1, args, 1, NULL);
	(void)err; /* the counter expires with its window anyway */
}

/* The keys of both reservation scripts. */
struct reservation_keys {
	char counter[KEY_SIZE];
	char held[KEY_SIZE + sizeof(":held")];
};

static void make_reservation_keys(const struct rate_limit_rule *rule, const char *subject,
                                  struct reservation_keys *keys)
{
	make_key(rule, subject, keys->counter);
	snprintf(keys->held, sizeof(keys->held), "%s:held", keys->counter);
}

enum err rate_limit_reserve(struct redis_pool *redis, const struct rate_limit_rule *rule,
                            const char *subject, const char *id, int64_t hold_s, int64_t *reset_s)
{
	if (rule->max == 0)
		return OK;
	struct reservation_keys keys;
	char max[24];
	char hold_ms[24];
	make_reservation_keys(rule, subject, &keys);
	snprintf(max, sizeof(max), "%" PRId64, rule->max);
	snprintf(hold_ms, sizeof(hold_ms), "%" PRId64, hold_s * 1000);

	const struct redis_arg args[] = { REDIS_TEXT(keys.counter), REDIS_TEXT(keys.held),
		                          REDIS_TEXT(max), REDIS_TEXT(id), REDIS_TEXT(hold_ms) };
	struct redis_reply *reply = NULL;
	if (redis_pool_script(redis, reserve_script, 2, args, 5, &reply) != OK)
		return OK;
	enum err err = OK;
	if (redis_reply_count(reply) == 2) {
		int64_t result = redis_reply_int(redis_reply_at(reply, 0));
		if (result == 0)
			*reset_s = (redis_reply_int(redis_reply_at(reply, 1)) + 999) / 1000;
		if (result <= 0)
			err = result == 0 ? ERR_LIMIT : ERR_UNAVAILABLE;
	}
	redis_reply_free(reply);
	return err;
}

void rate_limit_end_reservation(struct redis_pool *redis, const struct rate_limit_rule *rule,
                                const char *subject, const char *id, bool counts)
{
	if (rule->max == 0)
		return;
	struct reservation_keys keys;
	char window_ms[24];
	make_reservation_keys(rule, subject, &keys);
	snprintf(window_ms, sizeof(window_ms), "%" PRId64, counts ? rule->window_s * 1000 : 0);
	const struct redis_arg args[] = { REDIS_TEXT(keys.counter), REDIS_TEXT(keys.held),
		                          REDIS_TEXT(id), REDIS_TEXT(window_ms) };
	enum err err = redis_pool_script(redis, end_reservation_script, 2, args, 4, NULL);
	(void)err; /* a reservation that is never ended expires by itself */
}
