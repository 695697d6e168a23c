#include "services/redirector/journal/journal_shares.h"

#include <string.h>
#include <xxhash.h>

#include "lib/base/entropy.h"

void journal_shares_init(struct journal_shares *shares)
{
	memset(shares, 0, sizeof(*shares));
	entropy_fill(&shares->key, sizeof(shares->key));
}

static uint16_t bucket_of(const struct journal_shares *shares, const char *text)
{
	if (text[0] == '\0')
		return 0;
	uint64_t hash = XXH3_64bits_withSeed(text, strlen(text), shares->key);
	return (uint16_t)(1 + hash % (JOURNAL_SHARES_BUCKETS - 1));
}

struct journal_share journal_shares_find(const struct journal_shares *shares, const char *slug,
                                         const char *network)
{
	return (struct journal_share){ bucket_of(shares, slug), bucket_of(shares, network) };
}

bool journal_shares_admit(const struct journal_shares *shares, struct journal_share share,
                          uint64_t free_bytes)
{
	return atomic_load_explicit(&shares->links[share.link], memory_order_relaxed) <
	               free_bytes &&
	       atomic_load_explicit(&shares->networks[share.network], memory_order_relaxed) <
	               free_bytes;
}

void journal_shares_add(struct journal_shares *shares, struct journal_share share, size_t bytes)
{
	if (share.link != 0)
		atomic_fetch_add_explicit(&shares->links[share.link], bytes, memory_order_relaxed);
	if (share.network != 0)
		atomic_fetch_add_explicit(&shares->networks[share.network], bytes,
		                          memory_order_relaxed);
}

void journal_shares_remove(struct journal_shares *shares, struct journal_share share, size_t bytes)
{
	if (share.link != 0)
		atomic_fetch_sub_explicit(&shares->links[share.link], bytes, memory_order_relaxed);
	if (share.network != 0)
		atomic_fetch_sub_explicit(&shares->networks[share.network], bytes,
		                          memory_order_relaxed);
}
