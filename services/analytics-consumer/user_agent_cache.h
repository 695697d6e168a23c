/*
 * One thread at a time. What was found out about the user agents seen last: a bounded map, the least recently used
 * entry makes room. The hash is seeded, so that strangers cannot choose texts that collide.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_USER_AGENT_CACHE_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_USER_AGENT_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "services/analytics-consumer/user_agent.h"

struct user_agent_cache;

/* capacity: at least 1; memory is about 800 bytes an entry, taken when first used. */
struct user_agent_cache *user_agent_cache_new(size_t capacity);
void user_agent_cache_free(struct user_agent_cache *cache);

/* Forgets everything; the memory stays. */
void user_agent_cache_clear(struct user_agent_cache *cache);

/* NULL when text is not there. Borrowed until the next put. */
const struct user_agent *user_agent_cache_get(struct user_agent_cache *cache, const char *text);

/* text must not be there; at most REDIRECT_EVENT_USER_AGENT_MAX bytes. */
void user_agent_cache_put(struct user_agent_cache *cache, const char *text, const struct user_agent *value);

#endif
