/*
 * Control: link_cache without set-if-newer. The last write wins, however old its value. The checker
 * must detect it.
 */
#include <string.h>

#include "lib/redis/redis_pool.h"

static enum err control_script_at(struct redis_pool *pool, const char *script, size_t key_count,
                                  const struct redis_arg *args, size_t count,
                                  struct redis_reply **reply, uint64_t *server)
{
	static const char set[] = "redis.call('SET', KEYS[1], ARGV[3], 'EX', ARGV[4]) return 1";
	/* The script that compares versions is the one that sets entries. */
	const char *run = strstr(script, "rest >=") ? set : script;
	return redis_pool_script(pool, run, key_count, args, count, reply, server);
}

#define redis_pool_script control_script_at
#include "lib/links/link_cache.c" // NOLINT(bugprone-suspicious-include)
