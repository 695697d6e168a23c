/*
 * The hash table of this tree: uthash (a header of macros, uthash(3)). Include this file and never
 * <uthash.h>. An entry has a member "UT_hash_handle hh"; a table is a pointer to an entry, NULL
 * while it is empty. Entries keep the order in which they were added, so the first one is the
 * oldest.
 *
 *     struct peer {
 *             uint8_t key[16];
 *             UT_hash_handle hh;
 *     };
 *     HASH_FIND(hh, peers, key, sizeof(peer->key), peer);
 *     HASH_ADD(hh, peers, key, sizeof(peer->key), peer);
 *
 * Visitors and clients choose many of the keys. The hash has a seed that is random for each
 * process, so nobody outside can choose keys that share a bucket. Out of memory aborts. A table
 * grows without a limit, so its user bounds it.
 *
 * One thread at a time per table.
 */
#ifndef WAYMARK_LIB_BASE_HASH_TABLE_H
#define WAYMARK_LIB_BASE_HASH_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/mem.h"

#define HASH_FUNCTION(key, len, hash)                                                              \
	((hash) = (unsigned)hash_table_hash(hash_table_seed(), (key), (len)))
#define uthash_malloc(size) mem_zero(size)
#define uthash_fatal(message) abort()

#include <uthash.h>

/*
 * clang's analyzer does not see that only the first entry has no previous one, and believes that
 * HASH_DEL frees a table that is still used. To it, an unknown function removes the entry.
 */
#ifdef __clang_analyzer__
#undef HASH_DEL
#define HASH_DEL(head, entry) ((head) = hash_table_without((head), (entry)))
void *hash_table_without(void *head, void *entry);
#endif

/* Random for each process, and the same for its life. A hot path reads it once and keeps it. */
uint64_t hash_table_seed(void);

/* A hash of another seed may serve as the seed, so that a key can have several parts. */
uint64_t hash_table_hash(uint64_t seed, const void *key, size_t len);

#endif
