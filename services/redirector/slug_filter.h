/*
 * Safe from any thread. A Bloom filter of issued slugs: "not in it" is certain, "in it" is wrong for one slug in a
 * hundred once as many are in it as it was made for. About 9.6 bits each; nothing is ever taken out.
 *
 * It says nothing before it is complete: filled from PostgreSQL (filter_loader.h) while the feed of events covered, in
 * which each later slug is named. Complete holds for the time since covered_since (feed_progress.h) that it was filled
 * in.
 *
 * Kirsch, Mitzenmacher: "Less Hashing, Same Performance" (ESA 2006): two halves of one XXH3-128 make all positions. The
 * seed is drawn at start, so that nobody can choose slugs that all seem to be in it.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_SLUG_FILTER_H
#define WAYMARK_SERVICES_REDIRECTOR_SLUG_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slug_filter;

/* slugs: how many it is made for. */
struct slug_filter *slug_filter_new(size_t slugs);
void slug_filter_free(struct slug_filter *filter);

void slug_filter_add(struct slug_filter *filter, const char *slug, size_t slug_len);
bool slug_filter_may_have(const struct slug_filter *filter, const char *slug, size_t slug_len);

/* How many different slugs have been added, as far as it can tell (a little too few). */
size_t slug_filter_count(const struct slug_filter *filter);
/* More than it was made for: it is wrong too often to be asked. */
bool slug_filter_is_overfull(const struct slug_filter *filter);
size_t slug_filter_bytes(const struct slug_filter *filter);

/* All slugs from before are in it, and each later one comes with the feed that covers since covered_since_us. */
void slug_filter_set_complete(struct slug_filter *filter, int64_t covered_since_us);
/* Whether that is so for this covered_since. */
bool slug_filter_is_complete(const struct slug_filter *filter, int64_t covered_since_us);

#endif
