/*
 * One thread at a time. An LRU cache from User-Agent texts to parsed user agents. The hash is
 * seeded, so that clients cannot choose texts that collide.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_FACTS_USER_AGENT_CACHE_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_FACTS_USER_AGENT_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "services/analytics-consumer/facts/user_agent.h"

struct user_agent_cache;

/*
 * capacity: at least 1. Each entry takes about 800 bytes of memory, which the kernel provides on
 * first use.
 */
struct user_agent_cache *user_agent_cache_new(size_t capacity);
void user_agent_cache_free(struct user_agent_cache *cache);

/* Removes all entries and keeps the memory. */
void user_agent_cache_clear(struct user_agent_cache *cache);

/* NULL when text is not cached. The result is borrowed until the next put. */
const struct user_agent *user_agent_cache_get(struct user_agent_cache *cache, const char *text);

/* text must not be cached. A text longer than REDIRECT_EVENT_USER_AGENT_MAX bytes is ignored. */
void user_agent_cache_put(struct user_agent_cache *cache, const char *text,
                          const struct user_agent *value);

#endif
