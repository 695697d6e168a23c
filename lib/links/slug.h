/*
 * Safe from any thread. Slugs: 1 to 32 characters of [A-Za-z0-9_-], case-sensitive, never used twice.
 */
#ifndef WAYMARK_LIB_LINKS_SLUG_H
#define WAYMARK_LIB_LINKS_SLUG_H

#include <stdbool.h>
#include <stddef.h>

#define SLUG_LENGTH_MAX 32
#define SLUG_SIZE (SLUG_LENGTH_MAX + 1)
#define SLUG_RANDOM_LENGTH 7
/* After this many taken slugs of one length, a random slug becomes one character longer. */
#define SLUG_RANDOM_TRIES 5

bool slug_is_valid(const char *slug, size_t len);

/* True for words that the services answer themselves (robots.txt's "robots", "api", "r", "docs", …): see slug.c. */
bool slug_is_reserved(const char *slug);

/* length characters of [0-9A-Za-z] from getrandom, evenly drawn, never reserved. length is at most SLUG_LENGTH_MAX. */
void slug_random(char out[static SLUG_SIZE], size_t length);

/*
 * The slug that a raw request path asks for: "/{slug}" or "/r/{slug}"; borrowed from path, no NUL behind it. NULL if
 * the path is neither (escapes, doubled slashes, a slash at the end, anything longer).
 */
const char *slug_of_path(const char *path, size_t *len);

#endif
