/*
 * link_cache without set-if-newer: whoever comes last is right, however old what he brings. For the test that shows that the
 * checker finds it.
 */
#include <string.h>

#include "lib/net/redis_pool.h"

static enum err naive_script(struct redis_pool *pool, const char *script, size_t key_count,
                             const struct redis_arg *args, size_t count, struct redis_reply **reply)
{
	static const char set[] = "redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3]) return 1";
	/* The script that compares versions is the one that sets entries. */
	return redis_pool_script(pool, strstr(script, "version >=") ? set : script, key_count, args, count, reply);
}

#define redis_pool_script naive_script
#include "lib/links/link_cache.c" // NOLINT(bugprone-suspicious-include)
