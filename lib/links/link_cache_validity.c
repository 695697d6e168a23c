#include "lib/links/link_cache_validity.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/base/number.h"
#include "lib/base/thread.h"

#define POLL_AGE_US (LINK_CACHE_VALIDITY_POLL_AGE_MS * CLOCK_US_PER_MS)
#define HEARTBEAT_AGE_US (LINK_CACHE_VALIDITY_HEARTBEAT_AGE_MS * CLOCK_US_PER_MS)
#define NO_HEARTBEAT (-1)

/* --- the generation in Redis --- */

#define GENERATION_KEY "link_cache:generation"
#define SERVER_DIGITS 16
#define NUMBER_TEXT 24
#define WORD_MAX 20

/*
 * The value is "<number> <server> <heartbeat>", the server in 16 hexadecimal digits. KEYS[1]. ARGV:
 * number, server, not_after_us. The reply: the status, the current number, the time. The flag
 * allow-oom is safe because the value replaces one of the same length, and without it a full Redis
 * would be unusable.
 */
static const char announce[] =
	"#!lua flags=allow-oom\n"
	"local time = redis.call('TIME') "
	"local now = time[1] * 1000000 + time[2] "
	"if now > tonumber(ARGV[3]) then return {1, 0, now} end "
	"local old = redis.call('GET', KEYS[1]) "
	"local number = old and tonumber(string.match(old, '^(%d+) ')) "
	"if number and number > tonumber(ARGV[1]) then return {2, number, now} end "
	"redis.call('SET', KEYS[1], string.format('%s %s %.0f', ARGV[1], ARGV[2], now)) "
	"return {0, tonumber(ARGV[1]), now}";

/* Copies the next word of the text and advances *at past it. */
static bool next_word(const char **at, char word[static WORD_MAX + 1])
{
	size_t len = strcspn(*at, " ");
	if (len == 0 || len > WORD_MAX)
		return false;
	memcpy(word, *at, len);
	word[len] = '\0';
	*at += len + ((*at)[len] == ' ');
	return true;
}

static bool read_server(const char *word, uint64_t *out)
{
	bool is_id =
		strlen(word) == SERVER_DIGITS && strspn(word, "0123456789abcdef") == SERVER_DIGITS;
	*out = is_id ? strtoull(word, NULL, 16) : 0;
	return is_id;
}

static enum err parse(const char *text, struct link_cache_generation *out)
{
	char number[WORD_MAX + 1], server[WORD_MAX + 1], heartbeat[WORD_MAX + 1];
	struct link_cache_generation read;
	if (!text || !next_word(&text, number) || !next_word(&text, server) ||
	    !next_word(&text, heartbeat) || *text)
		return ERR_NOT_FOUND;
	if (number_parse(number, 1, INT64_MAX, &read.number) != OK ||
	    !read_server(server, &read.server) ||
	    number_parse(heartbeat, 0, INT64_MAX, &read.heartbeat) != OK)
		return ERR_NOT_FOUND;
	*out = read;
	return OK;
}

enum err link_cache_validity_read(struct redis_pool *redis, struct link_cache_generation *out,
                                  uint64_t *server)
{
	const struct redis_arg args[] = { REDIS_TEXT("GET"), REDIS_TEXT(GENERATION_KEY) };
	struct redis_reply *reply = NULL;
	enum err err = redis_pool_call_within(redis, LINK_CACHE_VALIDITY_POLL_TIMEOUT_MS, args, 2,
	                                      &reply, server);
	if (err == OK)
		err = parse(redis_reply_bytes(reply, NULL), out);
	redis_reply_free(reply);
	return err;
}

enum err link_cache_validity_announce(struct redis_pool *redis, int64_t number, uint64_t server,
                                      int64_t not_after_us, struct link_cache_validity_reply *out)
{
	char number_text[NUMBER_TEXT], server_text[NUMBER_TEXT], not_after[NUMBER_TEXT];
	snprintf(number_text, sizeof(number_text), "%" PRId64, number);
	snprintf(server_text, sizeof(server_text), "%0*" PRIx64, SERVER_DIGITS, server);
	snprintf(not_after, sizeof(not_after), "%" PRId64, not_after_us);
	const struct redis_arg args[] = { REDIS_TEXT(GENERATION_KEY), REDIS_TEXT(number_text),
		                          REDIS_TEXT(server_text), REDIS_TEXT(not_after) };
	struct redis_reply *reply = NULL;
	enum err err = redis_pool_script(redis, announce, 1, args, 4, &reply, &out->server);
	if (err == OK && redis_reply_count(reply) != 3)
		err = ERR_INTERNAL;
	if (err == OK) {
		out->status =
			(enum link_cache_validity_status)redis_reply_int(redis_reply_at(reply, 0));
		out->number = redis_reply_int(redis_reply_at(reply, 1));
		out->now_us = redis_reply_int(redis_reply_at(reply, 2));
	}
	redis_reply_free(reply);
	return err;
}

/* --- what is published --- */

enum cause { UNREACHABLE, NOT_ANNOUNCED, OTHER_SERVER, OLD_GENERATION, NO_NEW_HEARTBEAT, CAUSES };

static const char *const cause_names[CAUSES] = { "unreachable", "not_announced", "other_server",
	                                         "old_generation", "no_heartbeat" };

struct link_cache_validity {
	struct link_cache_validity_config config;
	struct thread *thread;

	_Atomic int64_t required;
	_Atomic int64_t last_seen;

	/*
	 * The published state, protected by a sequence lock: sequence is odd during a write, and
	 * readers retry until it is even and unchanged.
	 */
	_Atomic uint64_t sequence;
	_Atomic uint64_t server;
	_Atomic int64_t generation;
	/* Steady. */
	_Atomic int64_t valid_until_us[LINK_CACHE_VALIDITY_LAST_RESORT + 1];

	/* Used only by the thread. */
	/* Start of the last successful poll; all times here are steady. */
	int64_t answered_us;
	/* Generation. */
	int64_t highest;
	int64_t heartbeat;
	/* Start of the poll that first saw it. */
	int64_t heartbeat_us;
	/* When the connections were last renewed. */
	int64_t renewed_us;
	bool is_invalid;
	/* First one seen since it became invalid, or NO_HEARTBEAT. */
	int64_t first_heartbeat;
};

/* --- published state --- */

static void publish(struct link_cache_validity *t, const struct link_cache_epoch *now,
                    int64_t full_us, int64_t last_resort_us)
{
	atomic_fetch_add(&t->sequence, 1);
	atomic_store(&t->server, now->server);
	atomic_store(&t->generation, now->generation);
	atomic_store(&t->valid_until_us[LINK_CACHE_VALIDITY_FULL], full_us);
	atomic_store(&t->valid_until_us[LINK_CACHE_VALIDITY_LAST_RESORT], last_resort_us);
	atomic_fetch_add(&t->sequence, 1);
}

bool link_cache_validity_now(const struct link_cache_validity *validity,
                             enum link_cache_validity_level level, struct link_cache_epoch *out)
{
	uint64_t before, after;
	int64_t valid_until_us;
	do {
		before = atomic_load(&validity->sequence);
		out->server = atomic_load(&validity->server);
		out->generation = atomic_load(&validity->generation);
		valid_until_us = atomic_load(&validity->valid_until_us[level]);
		after = atomic_load(&validity->sequence);
	} while (before != after || before % 2 != 0);
	return clock_steady_us(validity->config.clock) < valid_until_us &&
	       out->generation >= atomic_load(&validity->required);
}

void link_cache_validity_require(struct link_cache_validity *validity, int64_t generation)
{
	int64_t required = atomic_load(&validity->required);
	while (required < generation &&
	       !atomic_compare_exchange_weak(&validity->required, &required, generation))
		continue;
}

int64_t link_cache_validity_generation(const struct link_cache_validity *validity)
{
	return atomic_load(&validity->last_seen);
}

/* --- the polling thread --- */

static void invalidate(struct link_cache_validity *t, enum cause why)
{
	t->first_heartbeat = NO_HEARTBEAT;
	publish(t, &(struct link_cache_epoch){ 0 }, 0, 0);
	if (t->is_invalid)
		return;
	t->is_invalid = true;
	log_warning(t->config.log, "link_cache_invalid", LOG_TEXT("reason", cause_names[why]));
}

static void validate(struct link_cache_validity *t, const struct link_cache_generation *announced)
{
	t->is_invalid = false;
	log_info(t->config.log, "link_cache_valid", LOG_INT("generation", announced->number));
}

/* Checks an announcement by itself; CAUSES: it is valid. */
static enum cause check_announcement(const struct link_cache_validity *t, enum err err,
                                     const struct link_cache_generation *announced, uint64_t server)
{
	if (err != OK)
		return NOT_ANNOUNCED;
	if (server == 0 || announced->server != server)
		return OTHER_SERVER;
	if (announced->number < t->highest || announced->number < atomic_load(&t->required))
		return OLD_GENERATION;
	return CAUSES;
}

/* The relay may lead to another server, which has replaced that of our connections. */
static void renew_connections(struct link_cache_validity *t, int64_t now_us)
{
	if (now_us - t->renewed_us < CLOCK_US_PER_S)
		return;
	t->renewed_us = now_us;
	redis_pool_reconnect(t->config.redis);
}

static void take_heartbeat(struct link_cache_validity *t,
                           const struct link_cache_generation *announced, int64_t polled_us)
{
	if (announced->heartbeat != t->heartbeat) {
		t->heartbeat = announced->heartbeat;
		t->heartbeat_us = polled_us;
	}
	if (polled_us - t->heartbeat_us > HEARTBEAT_AGE_US) {
		invalidate(t, NO_NEW_HEARTBEAT);
		renew_connections(t, polled_us);
	}
	if (t->is_invalid && t->first_heartbeat == NO_HEARTBEAT)
		t->first_heartbeat = announced->heartbeat;
	else if (t->is_invalid && announced->heartbeat != t->first_heartbeat)
		validate(t, announced);
}

static void take_answer(struct link_cache_validity *t, enum err err,
                        const struct link_cache_generation *announced, uint64_t server,
                        int64_t polled_us)
{
	/*
	 * The validity has expired in the meantime, even if only because this thread did not poll:
	 * it is unknown which changes the relay could not write.
	 */
	if (clock_steady_us(t->config.clock) - t->answered_us > POLL_AGE_US)
		invalidate(t, UNREACHABLE);
	if (err != OK && err != ERR_NOT_FOUND)
		return;
	t->answered_us = polled_us;
	if (err == OK)
		atomic_store(&t->last_seen, announced->number);
	enum cause why = check_announcement(t, err, announced, server);
	if (why != CAUSES) {
		invalidate(t, why);
		if (why == OTHER_SERVER)
			renew_connections(t, polled_us);
		return;
	}
	t->highest = announced->number;
	take_heartbeat(t, announced, polled_us);
	int64_t poll_until_us = polled_us + POLL_AGE_US;
	int64_t heartbeat_until_us = t->heartbeat_us + HEARTBEAT_AGE_US;
	int64_t full_us = poll_until_us < heartbeat_until_us ? poll_until_us : heartbeat_until_us;
	publish(t, &(struct link_cache_epoch){ server, announced->number },
	        t->is_invalid ? 0 : full_us, poll_until_us);
}

static void poll_once(struct link_cache_validity *t)
{
	struct link_cache_generation announced = { 0 };
	uint64_t server = 0;
	int64_t polled_us = clock_steady_us(t->config.clock);
	enum err err = link_cache_validity_read(t->config.redis, &announced, &server);
	take_answer(t, err, &announced, server, polled_us);
}

static void run(void *ctx)
{
	struct link_cache_validity *t = ctx;
	struct timespec next;
	do {
		next = thread_deadline_in_ms(LINK_CACHE_VALIDITY_POLL_MS);
		poll_once(t);
	} while (!thread_wait_until(t->thread, next));
}

/* --- life cycle --- */

static double is_valid(void *ctx)
{
	struct link_cache_epoch now;
	return link_cache_validity_now(ctx, LINK_CACHE_VALIDITY_FULL, &now) ? 1 : 0;
}

static double last_generation(void *ctx)
{
	return (double)link_cache_validity_generation(ctx);
}

static void register_metrics(struct link_cache_validity *t, struct metrics *metrics)
{
	if (!metrics)
		return;
	metrics_gauge_callback(metrics, "waymark_link_cache_valid",
	                       "1 while the links in Redis are valid", NULL, is_valid, t);
	metrics_gauge_callback(metrics, "waymark_link_cache_generation",
	                       "Last seen generation of the links in Redis", NULL, last_generation,
	                       t);
}

struct link_cache_validity *link_cache_validity_new(const struct link_cache_validity_config *config)
{
	struct link_cache_validity *t = mem_zero(sizeof(*t));
	t->config = *config;
	t->answered_us = t->renewed_us = clock_steady_us(config->clock);
	t->is_invalid = true;
	t->first_heartbeat = NO_HEARTBEAT;
	register_metrics(t, config->metrics);
	t->thread = thread_new();
	thread_start(t->thread, "redis-validity", run, t);
	return t;
}

void link_cache_validity_free(struct link_cache_validity *validity)
{
	if (!validity)
		return;
	thread_free(validity->thread);
	free(validity);
}
