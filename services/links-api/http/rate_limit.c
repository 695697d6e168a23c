#include "services/links-api/http/rate_limit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/digest.h"
#include "lib/base/entropy.h"
#include "lib/base/mem.h"
#include "services/links-api/http/local_limiter.h"

#define KEY_SIZE (RATE_LIMIT_SUBJECT_MAX + 64)

/*
 * How each script begins. KEYS[1]: the counter. ARGV[1] and ARGV[2]: its last value that this
 * process has seen, and the ms that are left of its window, or 0 and 0. If Redis lost the counter
 * before its time, the script continues from there.
 */
#define READ_COUNTER                                                                               \
	"local count = tonumber(redis.call('GET', KEYS[1]) or '0')\n"                              \
	"local left = redis.call('PTTL', KEYS[1])\n"                                               \
	"local lost = 0\n"                                                                         \
	"if left <= 0 then\n"                                                                      \
	"  count = tonumber(ARGV[1])\n"                                                            \
	"  left = tonumber(ARGV[2])\n"                                                             \
	"  if left > 0 then\n"                                                                     \
	"    lost = 1\n"                                                                           \
	"    redis.call('SET', KEYS[1], count, 'PX', left)\n"                                      \
	"  end\n"                                                                                  \
	"end\n"

/*
 * ARGV[3]: the maximum. ARGV[4]: the window in ms. ARGV[5]: the cost. Returns {count including this
 * event, ms until the window ends, 1 if the counter was lost}; count 0 means not counted.
 */
static const char take_script[] =
	READ_COUNTER "if left <= 0 then left = tonumber(ARGV[4]) end\n"
		     "if count >= tonumber(ARGV[3]) then return {0, left, lost} end\n"
		     "count = count + tonumber(ARGV[5])\n"
		     "redis.call('SET', KEYS[1], count, 'PX', left)\n"
		     "return {count, left, lost}\n";

static const char refund_script[] = "local count = tonumber(redis.call('GET', KEYS[1]) or '0')\n"
				    "if count > 0 then redis.call('DECR', KEYS[1]) end\n"
				    "return 0\n";

/*
 * KEYS[2]: the reservations, scored by their expiry in ms. ARGV[3]: the maximum. ARGV[4]: the id.
 * ARGV[5]: the lifetime of a reservation in ms. Returns {1, other running events, lost} if
 * reserved, {0, ms until the window ends, lost} if the counter is full, {-1, 0, lost} if
 * reservations fill the rest.
 */
static const char reserve_script[] =
	READ_COUNTER "if count >= tonumber(ARGV[3]) then return {0, left, lost} end\n"
		     "local time = redis.call('TIME')\n"
		     "local now = time[1] * 1000 + math.floor(time[2] / 1000)\n"
		     "redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)\n"
		     "local held = redis.call('ZCARD', KEYS[2])\n"
		     "if count + held >= tonumber(ARGV[3]) then return {-1, 0, lost} end\n"
		     "redis.call('ZADD', KEYS[2], now + tonumber(ARGV[5]), ARGV[4])\n"
		     "redis.call('PEXPIRE', KEYS[2], ARGV[5])\n"
		     "return {1, held, lost}\n";

/*
 * KEYS: as above. ARGV[3]: the id. ARGV[4]: the window in ms if the event counts, otherwise 0.
 * Returns {count, ms until the window ends, lost}.
 */
static const char end_reservation_script[] =
	READ_COUNTER "redis.call('ZREM', KEYS[2], ARGV[3])\n"
		     "if tonumber(ARGV[4]) == 0 then return {count, left, lost} end\n"
		     "if left <= 0 then left = tonumber(ARGV[4]) end\n"
		     "count = count + 1\n"
		     "redis.call('SET', KEYS[1], count, 'PX', left)\n"
		     "return {count, left, lost}\n";

#define RESULTS 3

struct rate_limit {
	struct redis_pool *redis;
	struct local_limiter *local; /* what Redis did not count */
	struct local_limiter *seen;  /* what Redis counted, when this process last saw it */
	struct metric *fallbacks;
	struct metric *lost;
};

struct rate_limit *rate_limit_new(struct redis_pool *redis, const struct clock *clock,
                                  struct metrics *metrics)
{
	struct rate_limit *limits = mem_zero(sizeof(*limits));
	limits->redis = redis;
	limits->local = local_limiter_new(clock);
	limits->seen = local_limiter_new(clock);
	if (!metrics)
		return limits;
	limits->fallbacks = metrics_counter(
		metrics, "waymark_rate_limit_fallbacks_total",
		"Events that a limit counted in this process, because Redis did not.", NULL);
	limits->lost = metrics_counter(metrics, "waymark_rate_limit_lost_counters_total",
	                               "Counters of limits that Redis had lost, and that this "
	                               "process restored.",
	                               NULL);
	return limits;
}

void rate_limit_free(struct rate_limit *limits)
{
	if (!limits)
		return;
	local_limiter_free(limits->local);
	local_limiter_free(limits->seen);
	free(limits);
}

static void make_key(const struct rate_limit_rule *rule, const char *subject,
                     char key[static KEY_SIZE])
{
	snprintf(key, KEY_SIZE, "limit:%s:%s", rule->name, subject);
}

static int64_t seconds(int64_t ms)
{
	return (ms + 999) / 1000;
}

/* Every script begins with these two arguments. */
struct seen_counter {
	char count[24], left_ms[24];
};

/*
 * The last two seconds of a window count as its end: what this process knows of it is rounded, and
 * the counter of a window that has ended must not come back.
 */
static void read_seen(const struct rate_limit *limits, const char *key, struct seen_counter *seen)
{
	struct local_limiter_state state = local_limiter_get(limits->seen, key);
	bool is_open = state.reset_s > 2;
	snprintf(seen->count, sizeof(seen->count), "%" PRId64, is_open ? state.counted : 0);
	snprintf(seen->left_ms, sizeof(seen->left_ms), "%" PRId64,
	         is_open ? (state.reset_s - 2) * 1000 : 0);
}

/* Runs a script. Another result than three numbers is an error. */
static enum err call(const struct rate_limit *limits, const char *script, size_t key_count,
                     const struct redis_arg *args, size_t count, int64_t result[static RESULTS])
{
	struct redis_reply *reply = NULL;
	enum err err = redis_pool_script(limits->redis, script, key_count, args, count, &reply);
	if (err == OK && redis_reply_count(reply) != RESULTS)
		err = ERR_INTERNAL;
	for (size_t i = 0; err == OK && i < RESULTS; i++)
		result[i] = redis_reply_int(redis_reply_at(reply, i));
	redis_reply_free(reply);
	if (err == OK)
		metrics_add(limits->lost, result[2]);
	return err;
}

static enum err take_in_redis(const struct rate_limit *limits, const struct rate_limit_rule *rule,
                              const char *key, int64_t cost, struct rate_limit_state *state,
                              bool *is_counted)
{
	char max[24], window_ms[24], events[24];
	struct seen_counter seen = { 0 };
	int64_t result[RESULTS];
	read_seen(limits, key, &seen);
	snprintf(max, sizeof(max), "%" PRId64, rule->max);
	snprintf(window_ms, sizeof(window_ms), "%" PRId64, rule->window_s * 1000);
	snprintf(events, sizeof(events), "%" PRId64, cost);
	const struct redis_arg args[] = { REDIS_TEXT(key),          REDIS_TEXT(seen.count),
		                          REDIS_TEXT(seen.left_ms), REDIS_TEXT(max),
		                          REDIS_TEXT(window_ms),    REDIS_TEXT(events) };
	enum err err = call(limits, take_script, 1, args, 6, result);
	if (err != OK)
		return err;
	*is_counted = result[0] > 0;
	state->left = *is_counted && result[0] < rule->max ? rule->max - result[0] : 0;
	state->reset_s = seconds(result[1]);
	local_limiter_set(limits->seen, key, *is_counted ? result[0] : rule->max, state->reset_s);
	return OK;
}

enum err rate_limit_take(struct rate_limit *limits, const struct rate_limit_rule *rule,
                         const char *subject, int64_t cost, struct rate_limit_state *state)
{
	char key[KEY_SIZE];
	bool is_counted = false;
	*state = (struct rate_limit_state){ .left = rule->max, .reset_s = rule->window_s };
	if (rule->max == 0)
		return OK;
	make_key(rule, subject, key);
	struct local_limiter_state local = local_limiter_get(limits->local, key);
	if (local.counted >= rule->max) {
		*state = (struct rate_limit_state){ .reset_s = local.reset_s };
		return ERR_LIMIT;
	}
	if (take_in_redis(limits, rule, key, cost, state, &is_counted) == OK)
		return is_counted ? OK : ERR_LIMIT;
	metrics_add(limits->fallbacks, 1);
	local = local_limiter_add(limits->local, key, cost, rule->window_s);
	state->left = local.counted < rule->max ? rule->max - local.counted : 0;
	state->reset_s = local.reset_s;
	return OK;
}

void rate_limit_refund(struct rate_limit *limits, const struct rate_limit_rule *rule,
                       const char *subject)
{
	if (rule->max == 0)
		return;
	char key[KEY_SIZE];
	make_key(rule, subject, key);
	const struct redis_arg args[] = { REDIS_TEXT(key) };
	bool is_in_redis = redis_pool_script(limits->redis, refund_script, 1, args, 1, NULL) == OK;
	local_limiter_refund(is_in_redis ? limits->seen : limits->local, key);
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

static void set_id(struct rate_limit_reservation *reservation)
{
	uint8_t random[RATE_LIMIT_ID_MAX / 2];
	entropy_fill(random, sizeof(random));
	digest_hex(random, sizeof(random), reservation->id);
}

/* As rate_limit_reserve. False: Redis did not decide. */
static bool reserve_in_redis(const struct rate_limit *limits, const struct rate_limit_rule *rule,
                             const struct reservation_keys *keys, int64_t hold_s,
                             struct rate_limit_reservation *out, int64_t *reset_s, enum err *err)
{
	char max[24], hold_ms[24];
	struct seen_counter seen = { 0 };
	int64_t result[RESULTS];
	read_seen(limits, keys->counter, &seen);
	snprintf(max, sizeof(max), "%" PRId64, rule->max);
	snprintf(hold_ms, sizeof(hold_ms), "%" PRId64, hold_s * 1000);
	const struct redis_arg args[] = { REDIS_TEXT(keys->counter), REDIS_TEXT(keys->held),
		                          REDIS_TEXT(seen.count),    REDIS_TEXT(seen.left_ms),
		                          REDIS_TEXT(max),           REDIS_TEXT(out->id),
		                          REDIS_TEXT(hold_ms) };
	if (call(limits, reserve_script, 2, args, 7, result) != OK)
		return false;
	*err = result[0] > 0 ? OK : result[0] == 0 ? ERR_LIMIT : ERR_UNAVAILABLE;
	if (*err == OK)
		out->others = result[1];
	if (*err == ERR_LIMIT)
		*reset_s = seconds(result[1]);
	return true;
}

enum err rate_limit_reserve(struct rate_limit *limits, const struct rate_limit_rule *rule,
                            const char *subject, int64_t hold_s, struct rate_limit_reservation *out,
                            int64_t *reset_s)
{
	struct reservation_keys keys;
	enum err err;
	*out = (struct rate_limit_reservation){ 0 };
	if (rule->max == 0)
		return OK;
	set_id(out);
	make_reservation_keys(rule, subject, &keys);
	struct local_limiter_state local = local_limiter_get(limits->local, keys.counter);
	if (local.counted >= rule->max) {
		*reset_s = local.reset_s;
		return ERR_LIMIT;
	}
	if (reserve_in_redis(limits, rule, &keys, hold_s, out, reset_s, &err))
		return err;
	metrics_add(limits->fallbacks, 1);
	out->is_local = true;
	err = local_limiter_reserve(limits->local, keys.counter, rule->max, hold_s, &local);
	out->others = local.running;
	return err == OK ? OK : ERR_UNAVAILABLE;
}

/* False: Redis may not have counted the event. */
static bool end_in_redis(const struct rate_limit *limits, const struct rate_limit_rule *rule,
                         const struct reservation_keys *keys,
                         const struct rate_limit_reservation *reservation, bool counts)
{
	char window_ms[24];
	struct seen_counter seen = { 0 };
	int64_t result[RESULTS];
	read_seen(limits, keys->counter, &seen);
	snprintf(window_ms, sizeof(window_ms), "%" PRId64, counts ? rule->window_s * 1000 : 0);
	const struct redis_arg args[] = { REDIS_TEXT(keys->counter),   REDIS_TEXT(keys->held),
		                          REDIS_TEXT(seen.count),      REDIS_TEXT(seen.left_ms),
		                          REDIS_TEXT(reservation->id), REDIS_TEXT(window_ms) };
	if (call(limits, end_reservation_script, 2, args, 6, result) != OK)
		return false;
	local_limiter_set(limits->seen, keys->counter, result[0], seconds(result[1]));
	return true;
}

void rate_limit_end_reservation(struct rate_limit *limits, const struct rate_limit_rule *rule,
                                const char *subject,
                                const struct rate_limit_reservation *reservation, bool counts)
{
	struct reservation_keys keys;
	if (rule->max == 0)
		return;
	make_reservation_keys(rule, subject, &keys);
	if (reservation->is_local)
		local_limiter_release(limits->local, keys.counter);
	bool is_counted =
		!reservation->is_local && end_in_redis(limits, rule, &keys, reservation, counts);
	if (is_counted || !counts)
		return;
	if (!reservation->is_local)
		metrics_add(limits->fallbacks, 1);
	local_limiter_add(limits->local, keys.counter, 1, rule->window_s);
}
