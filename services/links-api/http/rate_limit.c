#include "services/links-api/http/rate_limit.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/digest.h"
#include "lib/base/entropy.h"
#include "lib/base/limiter.h"
#include "lib/base/mem.h"

#define MINUTE_S 60
#define HOUR_S 3600
#define DAY_S 86400

struct rate_limit_rule rate_limit_rule_of(const struct config *config, enum limits_name name)
{
#define SIZE(member) offsetof(struct config, member)
	/* clang-format off */
	static const struct {
		const char *name;
		size_t max;
		int64_t window_s;
		const char *detail;
	} limits[] = {
		[LIMITS_REQUESTS]        = { "requests",          SIZE(requests_per_minute),        MINUTE_S,
			"Your account has sent too many requests in a minute." },
		[LIMITS_SHARE_REQUESTS]  = { "requests",          SIZE(requests_per_minute),        MINUTE_S,
			"Your network has read this share too often in a minute." },
		[LIMITS_BULK_LINKS]      = { "bulk-links",        SIZE(bulk_links_per_minute),      MINUTE_S,
			"The bulk requests of your account contain too many links for one minute." },
		[LIMITS_ANONYMOUS_LINKS] = { "anonymous-links",   SIZE(anonymous_links_per_hour),   HOUR_S,
			"Your network has reached its hourly limit of links created without a login." },
		[LIMITS_ACCOUNTS]        = { "accounts",          SIZE(accounts_per_hour),          HOUR_S,
			"Too many registrations from your network." },
		[LIMITS_LOGIN]           = { "login",             SIZE(login_failures),             15 * MINUTE_S,
			"Too many wrong passwords for this account or share from your network." },
		[LIMITS_LOGIN_NETWORK]   = { "login-network",     SIZE(login_failures_per_network), HOUR_S,
			"Too many wrong passwords from your network." },
		[LIMITS_LOGIN_ACCOUNT]   = { "login-account",     SIZE(login_failures_per_account), 15 * MINUTE_S,
			"Too many wrong passwords for this account or share. Use a network where the password was right before, or wait." },
		[LIMITS_PASSWORD]        = { "password",          SIZE(login_failures),             15 * MINUTE_S,
			"Too many wrong passwords with this access token or session." },
		[LIMITS_CODE]            = { "second-factor",     SIZE(login_failures),             15 * MINUTE_S,
			"Too many wrong codes for this account from your network." },
		[LIMITS_CODE_ACCOUNT]    = { "second-factor-account", SIZE(login_failures_per_account), DAY_S,
			"Too many wrong codes for this account. Use a recovery code, or a network where you have logged in before." },
		[LIMITS_PAGE_TITLES]     = { "page-titles",       SIZE(page_titles_per_minute),     MINUTE_S,
			"Your account has asked for the titles of too many pages in a minute." },
		[LIMITS_MAILS]           = { "mails",             SIZE(mails_per_day),              DAY_S,
			"You have caused too many mails in a day." },
		[LIMITS_MAILS_TO_ADDRESS] = { "mails-to-address", SIZE(mails_to_address_per_day),   DAY_S,
			"Too many mails in a day to this address." },
		[LIMITS_LINKS]           = { "links",             SIZE(links_per_day),              DAY_S,
			"Your account has reached its limit of new links, which an administrator can raise." },
		[LIMITS_IDEMPOTENCY_BYTES] = { "idempotency-bytes", SIZE(idempotency_bytes_per_day), DAY_S,
			"The responses to your requests with an Idempotency-Key take too much space." },
	};
	/* clang-format on */
#undef SIZE
	const int64_t *max = (const int64_t *)((const char *)config + limits[name].max);
	return (struct rate_limit_rule){ limits[name].name, limits[name].detail, *max,
		                         limits[name].window_s };
}

#define KEY_SIZE (RATE_LIMIT_SUBJECT_MAX + 64)
/* Of what this process saw, so that a subject that has earned all back does not owe again. */
#define SLACK_US (2 * CLOCK_US_PER_S)

/*
 * How each script begins: limiter.h in Lua. KEYS[1]: the time, in µs of Redis' clock, when the
 * subject owes nothing any more. ARGV[1]: what it owes as far as this process has seen, 0 if
 * nothing. ARGV[2]: what an event adds. ARGV[3]: max. If Redis lost the key, what was seen counts.
 */
#define READ_OWED                                                                                  \
	"local time = redis.call('TIME')\n"                                                        \
	"local now = time[1] * 1000000 + time[2]\n"                                                \
	"local free_at = tonumber(redis.call('GET', KEYS[1]) or '-1')\n"                           \
	"local event = tonumber(ARGV[2])\n"                                                        \
	"local max = tonumber(ARGV[3])\n"                                                          \
	"local lost = 0\n"                                                                         \
	"local function add(events)\n"                                                             \
	"  free_at = math.min(free_at + events * event, now + (2 * max - 1) * event)\n"            \
	"  local ms = math.ceil((free_at - now) / 1000)\n"                                         \
	"  ms = math.max(1, ms, redis.call('PTTL', KEYS[1]))\n"                                    \
	"  redis.call('SET', KEYS[1], string.format('%.0f', free_at), 'PX', ms)\n"                 \
	"end\n"                                                                                    \
	"if free_at == -1 and tonumber(ARGV[1]) > 0 then\n"                                        \
	"  free_at = now + ARGV[1]\n"                                                              \
	"  lost = 1\n"                                                                             \
	"  add(0)\n"                                                                               \
	"end\n"                                                                                    \
	"free_at = math.max(free_at, now)\n"                                                       \
	"local used = math.ceil((free_at - now) / event)\n"

/* ARGV[4]: the events. Returns {1 if they counted, µs that are owed, lost}. */
static const char take_script[] =
	READ_OWED "if used >= max then return {0, free_at - now, lost} end\n"
		  "add(tonumber(ARGV[4]))\n"
		  "return {1, free_at - now, lost}\n";

static const char refund_script[] = READ_OWED "if used > 0 then add(-1) end\n"
					      "return {1, free_at - now, lost}\n";

/*
 * KEYS[2]: the reservations, scored by their expiry in ms. ARGV[4]: the id. ARGV[5]: the lifetime
 * of a reservation in ms. Returns {1, 0, lost} if reserved, {0, µs that are owed, lost} if no event is
 * allowed, {-1, 0, lost} if reservations take the rest.
 */
static const char reserve_script[] =
	READ_OWED "if used >= max then return {0, free_at - now, lost} end\n"
		  "local now_ms = math.floor(now / 1000)\n"
		  "redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now_ms)\n"
		  "local held = redis.call('ZCARD', KEYS[2])\n"
		  "if used + held >= max then return {-1, 0, lost} end\n"
		  "redis.call('ZADD', KEYS[2], now_ms + tonumber(ARGV[5]), ARGV[4])\n"
		  "redis.call('PEXPIRE', KEYS[2], ARGV[5])\n"
		  "return {1, 0, lost}\n";

/* KEYS: as above. ARGV[4]: the id. ARGV[5]: 1 if the event counts. Returns {1, µs owed, lost}. */
static const char end_reservation_script[] = READ_OWED "redis.call('ZREM', KEYS[2], ARGV[4])\n"
						       "if ARGV[5] == '1' then add(1) end\n"
						       "return {1, free_at - now, lost}\n";

#define RESULTS 3

struct rate_limit {
	struct redis_pool *redis;
	/* What Redis did not count. */
	struct limiter *local;
	/* What Redis counted, when this process last saw it. */
	struct limiter *seen;
	struct metric *fallbacks;
	struct metric *lost;
};

struct rate_limit *rate_limit_new(struct redis_pool *redis, const struct clock *clock,
                                  struct metrics *metrics)
{
	struct rate_limit *limits = mem_zero(sizeof(*limits));
	limits->redis = redis;
	limits->local = limiter_new(clock);
	limits->seen = limiter_new(clock);
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
	limiter_free(limits->local);
	limiter_free(limits->seen);
	free(limits);
}

static void make_key(const struct rate_limit_rule *rule, const char *subject,
                     char key[static KEY_SIZE])
{
	snprintf(key, KEY_SIZE, "limit:%s:%s", rule->name, subject);
}

static struct limiter_rule core_of(const struct rate_limit_rule *rule)
{
	return (struct limiter_rule){ rule->max, rule->window_s * CLOCK_US_PER_S };
}

static int64_t seconds(int64_t us)
{
	return (us + CLOCK_US_PER_S - 1) / CLOCK_US_PER_S;
}

/* What remains, if an event is allowed; otherwise when one is. */
static struct rate_limit_state state_of(const struct rate_limit_rule *rule, int64_t owed_us)
{
	struct limiter_rule core = core_of(rule);
	int64_t wait_us = limiter_wait_us(&core, owed_us);
	return (struct rate_limit_state){ limiter_left(&core, owed_us),
		                          seconds(wait_us > 0 ? wait_us : owed_us) };
}

/* The arguments that every script begins with. */
struct head {
	char seen[24], event[24], max[24];
};

static void fill_head(const struct rate_limit *limits, const struct rate_limit_rule *rule,
                      const char *key, struct head *head)
{
	struct limiter_rule core = core_of(rule);
	int64_t seen_us = limiter_owed_us(limits->seen, key, strlen(key)) - SLACK_US;
	snprintf(head->seen, sizeof(head->seen), "%" PRId64, seen_us > 0 ? seen_us : 0);
	snprintf(head->event, sizeof(head->event), "%" PRId64, limiter_event_us(&core));
	snprintf(head->max, sizeof(head->max), "%" PRId64, rule->max);
}

/* Runs a script. Another result than three numbers is an error. */
static enum err call(const struct rate_limit *limits, const char *script, size_t key_count,
                     const struct redis_arg *args, size_t count, int64_t result[static RESULTS])
{
	struct redis_reply *reply = NULL;
	enum err err =
		redis_pool_script(limits->redis, script, key_count, args, count, &reply, NULL);
	if (err == OK && redis_reply_count(reply) != RESULTS)
		err = ERR_INTERNAL;
	for (size_t i = 0; err == OK && i < RESULTS; i++)
		result[i] = redis_reply_int(redis_reply_at(reply, i));
	redis_reply_free(reply);
	if (err == OK)
		metrics_add(limits->lost, result[2]);
	return err;
}

/* Runs a script on the counter alone, and remembers what it says is owed. */
static enum err call_counter(const struct rate_limit *limits, const char *script,
                             const struct rate_limit_rule *rule, const char *key, int64_t events,
                             int64_t result[static RESULTS])
{
	char text[24];
	struct head head;
	fill_head(limits, rule, key, &head);
	snprintf(text, sizeof(text), "%" PRId64, events);
	const struct redis_arg args[] = { REDIS_TEXT(key), REDIS_TEXT(head.seen),
		                          REDIS_TEXT(head.event), REDIS_TEXT(head.max),
		                          REDIS_TEXT(text) };
	enum err err = call(limits, script, 1, args, 5, result);
	if (err == OK)
		limiter_set_owed(limits->seen, key, strlen(key), result[1]);
	return err;
}

/*
 * While Redis is away, this process goes on from what it saw of the counter, if that is more than it
 * counted itself.
 */
static void adopt_seen(const struct rate_limit *limits, const char *key)
{
	int64_t seen_us = limiter_owed_us(limits->seen, key, strlen(key));
	if (seen_us > limiter_owed_us(limits->local, key, strlen(key)))
		limiter_set_owed(limits->local, key, strlen(key), seen_us);
}

/* What counts in this process alone, because Redis could not be asked. */
static int64_t add_locally(const struct rate_limit *limits, const struct rate_limit_rule *rule,
                           const char *key, int64_t events)
{
	struct limiter_rule core = core_of(rule);
	adopt_seen(limits, key);
	return limiter_add(limits->local, key, strlen(key), &core, events);
}

/* What this process counted alone forbids another event. */
static bool is_limited_locally(const struct rate_limit *limits, const struct rate_limit_rule *rule,
                               const char *key, struct rate_limit_state *state)
{
	*state = state_of(rule, limiter_owed_us(limits->local, key, strlen(key)));
	return state->left == 0;
}

enum err rate_limit_take(struct rate_limit *limits, const struct rate_limit_rule *rule,
                         const char *subject, int64_t cost, struct rate_limit_state *state)
{
	char key[KEY_SIZE];
	int64_t result[RESULTS];
	*state = (struct rate_limit_state){ .left = rule->max, .reset_s = rule->window_s };
	if (rule->max == ENV_UNLIMITED)
		return OK;
	make_key(rule, subject, key);
	if (is_limited_locally(limits, rule, key, state))
		return ERR_LIMIT;
	if (call_counter(limits, take_script, rule, key, cost, result) == OK) {
		*state = state_of(rule, result[1]);
		return result[0] > 0 ? OK : ERR_LIMIT;
	}
	adopt_seen(limits, key);
	if (is_limited_locally(limits, rule, key, state))
		return ERR_LIMIT;
	metrics_add(limits->fallbacks, 1);
	*state = state_of(rule, add_locally(limits, rule, key, cost));
	return OK;
}

void rate_limit_refund(struct rate_limit *limits, const struct rate_limit_rule *rule,
                       const char *subject)
{
	char key[KEY_SIZE];
	int64_t result[RESULTS];
	if (rule->max == ENV_UNLIMITED)
		return;
	make_key(rule, subject, key);
	if (call_counter(limits, refund_script, rule, key, -1, result) != OK)
		add_locally(limits, rule, key, -1);
}

/* --- reservations --- */

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

static enum err call_reservation(const struct rate_limit *limits, const char *script,
                                 const struct rate_limit_rule *rule,
                                 const struct reservation_keys *keys, const char *id, int64_t last,
                                 int64_t result[static RESULTS])
{
	char text[24];
	struct head head;
	fill_head(limits, rule, keys->counter, &head);
	snprintf(text, sizeof(text), "%" PRId64, last);
	const struct redis_arg args[] = { REDIS_TEXT(keys->counter), REDIS_TEXT(keys->held),
		                          REDIS_TEXT(head.seen),     REDIS_TEXT(head.event),
		                          REDIS_TEXT(head.max),      REDIS_TEXT(id),
		                          REDIS_TEXT(text) };
	return call(limits, script, 2, args, 7, result);
}

enum err rate_limit_reserve(struct rate_limit *limits, const struct rate_limit_rule *rule,
                            const char *subject, int64_t hold_s, struct rate_limit_reservation *out,
                            int64_t *reset_s)
{
	struct reservation_keys keys;
	struct rate_limit_state state;
	int64_t result[RESULTS];
	*out = (struct rate_limit_reservation){ 0 };
	if (rule->max == ENV_UNLIMITED)
		return OK;
	set_id(out);
	make_reservation_keys(rule, subject, &keys);
	if (is_limited_locally(limits, rule, keys.counter, &state)) {
		*reset_s = state.reset_s;
		return ERR_LIMIT;
	}
	if (call_reservation(limits, reserve_script, rule, &keys, out->id, hold_s * 1000, result) ==
	    OK) {
		if (result[0] == 0)
			*reset_s = state_of(rule, result[1]).reset_s;
		return result[0] > 0 ? OK : result[0] == 0 ? ERR_LIMIT : ERR_UNAVAILABLE;
	}
	adopt_seen(limits, keys.counter);
	if (is_limited_locally(limits, rule, keys.counter, &state)) {
		*reset_s = state.reset_s;
		return ERR_LIMIT;
	}
	metrics_add(limits->fallbacks, 1);
	out->is_local = true;
	struct limiter_rule core = core_of(rule);
	enum err err = limiter_reserve(limits->local, keys.counter, strlen(keys.counter), &core,
	                               hold_s * CLOCK_US_PER_S);
	return err == OK ? OK : ERR_UNAVAILABLE;
}

void rate_limit_end_reservation(struct rate_limit *limits, const struct rate_limit_rule *rule,
                                const char *subject,
                                const struct rate_limit_reservation *reservation, bool counts)
{
	struct reservation_keys keys;
	int64_t result[RESULTS];
	if (rule->max == ENV_UNLIMITED)
		return;
	make_reservation_keys(rule, subject, &keys);
	if (reservation->is_local) {
		limiter_release(limits->local, keys.counter, strlen(keys.counter));
	} else if (call_reservation(limits, end_reservation_script, rule, &keys, reservation->id,
	                            counts, result) == OK) {
		limiter_set_owed(limits->seen, keys.counter, strlen(keys.counter), result[1]);
		return;
	}
	if (!counts)
		return;
	if (!reservation->is_local)
		metrics_add(limits->fallbacks, 1);
	add_locally(limits, rule, keys.counter, 1);
}
