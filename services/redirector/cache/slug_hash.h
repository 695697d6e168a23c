/*
 * Safe from any thread. Hashes keys of slugs for tables. The key is random for each table, so nobody can
 * choose slugs that collide. Not for secrets.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_CACHE_SLUG_HASH_H
#define WAYMARK_SERVICES_REDIRECTOR_CACHE_SLUG_HASH_H

#include <stddef.h>
#include <stdint.h>

struct slug_hash_key {
	uint64_t part[5];
};

void slug_hash_key_generate(struct slug_hash_key *key);

uint64_t slug_hash(const struct slug_hash_key *key, const char *slug, size_t len);

#endif
