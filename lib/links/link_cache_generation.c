#include "lib/links/link_cache_generation.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"
#include "lib/base/number.h"

#define KEY "link_cache:generation"
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

enum err link_cache_generation_read(struct redis_pool *redis, struct link_cache_generation *out,
                                    uint64_t *server)
{
	const struct redis_arg args[] = { REDIS_TEXT("GET"), REDIS_TEXT(KEY) };
	struct redis_reply *reply = NULL;
	enum err err = redis_pool_call(redis, args, 2, &reply, server);
	if (err == OK)
		err = parse(redis_reply_bytes(reply, NULL), out);
	redis_reply_free(reply);
	return err;
}

enum err link_cache_generation_announce(struct redis_pool *redis, int64_t number, uint64_t server,
                                        int64_t not_after_us,
                                        struct link_cache_generation_reply *out)
{
	char number_text[NUMBER_TEXT], server_text[NUMBER_TEXT], not_after[NUMBER_TEXT];
	snprintf(number_text, sizeof(number_text), "%" PRId64, number);
	snprintf(server_text, sizeof(server_text), "%0*" PRIx64, SERVER_DIGITS, server);
	snprintf(not_after, sizeof(not_after), "%" PRId64, not_after_us);
	const struct redis_arg args[] = { REDIS_TEXT(KEY), REDIS_TEXT(number_text),
		                          REDIS_TEXT(server_text), REDIS_TEXT(not_after) };
	struct redis_reply *reply = NULL;
	enum err err = redis_pool_script(redis, announce, 1, args, 4, &reply, &out->server);
	if (err == OK && redis_reply_count(reply) != 3)
		err = ERR_INTERNAL;
	if (err == OK) {
		out->status = (enum link_cache_generation_status)redis_reply_int(
			redis_reply_at(reply, 0));
		out->number = redis_reply_int(redis_reply_at(reply, 1));
		out->now_us = redis_reply_int(redis_reply_at(reply, 2));
	}
	redis_reply_free(reply);
	return err;
}
