/*
 * One thread at a time. An LRU cache from texts that clients send to what was derived from them.
 */
#ifndef WAYMARK_LIB_VISITORS_TEXT_CACHE_H
#define WAYMARK_LIB_VISITORS_TEXT_CACHE_H

#include <stddef.h>
#include <stdint.h>

struct text_cache;

/*
 * capacity: at least 1. text_max: of the longest text in bytes. Each entry takes the bytes of its
 * text, value_size and about 90 more.
 */
struct text_cache *text_cache_new(size_t capacity, size_t text_max, size_t value_size);
void text_cache_free(struct text_cache *cache);

/* Removes all entries and keeps the memory. */
void text_cache_clear(struct text_cache *cache);

/* The value of text, borrowed until the next put; NULL when text is not cached. */
const void *text_cache_get(struct text_cache *cache, const char *text);

/* Copies value. text must not be cached. A text longer than text_max is ignored. */
void text_cache_put(struct text_cache *cache, const char *text, const void *value);

#endif
