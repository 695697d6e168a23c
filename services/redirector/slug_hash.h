/*
 * Safe from any thread. Spreads slugs over tables. The key is drawn at start, so that nobody can choose slugs that fall
 * into one bucket. Not for anything that must stay secret.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_SLUG_HASH_H
#define WAYMARK_SERVICES_REDIRECTOR_SLUG_HASH_H

#include <stddef.h>
#include <stdint.h>

struct slug_hash_key {
	uint64_t part[5];
};

void slug_hash_key_draw(struct slug_hash_key *key);

/* len is at most SLUG_LENGTH_MAX. */
uint64_t slug_hash(const struct slug_hash_key *key, const char *slug, size_t len);

#endif
