/* Slugs: 1 to 32 of [A-Za-z0-9_-], case-sensitive, never used twice. Safe from any thread. */
#ifndef WAYMARK_LIB_LINKS_SLUG_H
#define WAYMARK_LIB_LINKS_SLUG_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"

#define SLUG_LENGTH_MAX 32
#define SLUG_SIZE (SLUG_LENGTH_MAX + 1)
#define SLUG_RANDOM_LENGTH 7
/* After this many collisions at one length, a random slug gets one character longer. */
#define SLUG_RANDOM_TRIES 5

bool slug_is_valid(const char *slug, size_t len);

/* True for names that the services serve themselves ("api", "docs", "r", …); see slug.c. */
bool slug_is_reserved(const char *slug);

/*
 * length characters of [0-9A-Za-z], drawn evenly with getrandom, never a reserved slug. length is
 * at most SLUG_LENGTH_MAX.
 */
void slug_random(char out[static SLUG_SIZE], size_t length);

/*
 * Finds the slug in a raw request path, "/{slug}" or "/r/{slug}". One slash may follow, and escapes
 * of characters that a slug may have are decoded ("/sp%72ing"): RFC 3986 calls such paths
 * equivalent. False if the path has another form (other escapes, double slashes, anything longer);
 * out is not written then.
 */
bool slug_of_path(const char *path, char out[static SLUG_SIZE]) MUST_CHECK;

#endif
