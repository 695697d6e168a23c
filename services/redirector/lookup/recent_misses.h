/*
 * Safe from any thread. Remembers by fingerprint which slugs were found not to exist within the
 * last minute.
 *
 * It decides which misses are worth a write to Redis. A 404 by the Bloom filter waits for the
 * watermark, about a third of a second; a 404 by Redis is immediate. When a slug misses again
 * within a minute, "unknown" is written to Redis for a minute. Only the first two requests of a
 * minute for a popular dead link therefore wait. A flood requests each invented slug once, so its
 * misses cost Redis no write and no memory.
 *
 * The table may err both ways: fingerprints collide, and a newer slug overwrites an older one. No
 * response depends on it. It takes 512 KiB.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_LOOKUP_RECENT_MISSES_H
#define WAYMARK_SERVICES_REDIRECTOR_LOOKUP_RECENT_MISSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECENT_MISSES_TTL_S 60

struct recent_misses;

struct recent_misses *recent_misses_new(void);
void recent_misses_free(struct recent_misses *misses);

/* Times are steady. */
void recent_misses_add(struct recent_misses *misses, const char *slug, size_t slug_len,
                       int64_t now_us);
bool recent_misses_has(const struct recent_misses *misses, const char *slug, size_t slug_len,
                       int64_t now_us);

#endif
