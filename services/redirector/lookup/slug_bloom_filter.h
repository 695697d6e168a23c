/*
 * Safe from any thread. A Bloom filter of all issued slugs. "Not in it" is certain; "in it" is
 * wrong for one slug in a hundred once it holds as many slugs as it was made for. It takes about
 * 9.6 bits a slug, and nothing is ever removed.
 *
 * The filter decides nothing until it is complete: filled from PostgreSQL by its loader
 * while the feed of link events, which names each later slug, was continuous. Completeness is bound
 * to the continuous_since_us (watermark_tracker.h) during which it was filled.
 *
 * All probe positions derive from the two halves of one XXH3-128 (Kirsch, Mitzenmacher: "Less
 * Hashing, Same Performance", ESA 2006). The seed is random, so nobody can choose slugs that
 * collide.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_LOOKUP_SLUG_BLOOM_FILTER_H
#define WAYMARK_SERVICES_REDIRECTOR_LOOKUP_SLUG_BLOOM_FILTER_H

#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/postgres/pg_pool.h"
#include "services/redirector/cache/watermark_tracker.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slug_bloom_filter;
struct unknown_slug_limiter;

/* slugs: the capacity. */
struct slug_bloom_filter *slug_bloom_filter_new(size_t slugs);
void slug_bloom_filter_free(struct slug_bloom_filter *filter);

void slug_bloom_filter_add(struct slug_bloom_filter *filter, const char *slug, size_t slug_len);
bool slug_bloom_filter_may_contain(const struct slug_bloom_filter *filter, const char *slug,
                                   size_t slug_len);

/* Distinct slugs added, as far as the filter can tell: slightly too few. */
size_t slug_bloom_filter_count(const struct slug_bloom_filter *filter);
/* It holds more than its capacity and is wrong too often to be used. */
bool slug_bloom_filter_is_overfull(const struct slug_bloom_filter *filter);
size_t slug_bloom_filter_bytes(const struct slug_bloom_filter *filter);

/* All earlier slugs are in it; the feed, continuous since then, brings each later one. */
void slug_bloom_filter_set_complete(struct slug_bloom_filter *filter, int64_t continuous_since_us);
/* Whether the filter is complete for this continuous_since_us. */
bool slug_bloom_filter_is_complete(const struct slug_bloom_filter *filter,
                                   int64_t continuous_since_us);

/*
 * A thread that fills the filter. Whenever the feed of link events becomes continuous again, it
 * reads all slugs and aliases in short statements. Slugs that are issued meanwhile arrive by
 * the feed.
 *
 * It also looks for links that bypassed links-api, for example an import: they have no events and
 * must not be answered 404. It does so every second, and every 100 ms while a lookup waits in the
 * unknown_slug_limiter.
 *
 * Purged slugs are left out on purpose: they are answered 404 like slugs that never existed.
 */
struct bloom_filter_loader;

/* Everything is borrowed. */
struct bloom_filter_loader_config {
	struct slug_bloom_filter *filter;
	struct unknown_slug_limiter *limiter;
	const struct watermark_tracker *watermark;
	/* At most one connection at a time. */
	struct pg_pool *postgres;
	const struct log *log;
	struct metrics *metrics;
};

struct bloom_filter_loader *slug_bloom_filter_loader_start(
	const struct bloom_filter_loader_config *config);
/* Waits for a statement that is running. NULL is allowed. */
void slug_bloom_filter_loader_stop(struct bloom_filter_loader *loader);

#endif
