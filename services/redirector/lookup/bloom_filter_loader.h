/*
 * Safe from any thread. A thread that fills a slug_bloom_filter from PostgreSQL.
 *
 * Whenever the feed of link events becomes continuous again, it reads all slugs of the table links
 * in short statements. Slugs that are issued meanwhile arrive by the feed.
 *
 * It also looks for links that bypassed links-api, for example an import: they have no events and
 * must not be answered 404. It does so every second, and every 100 ms while a lookup waits in the
 * unknown_slug_limiter.
 *
 * Purged slugs are left out on purpose: they are answered 404 like slugs that never existed.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_LOOKUP_BLOOM_FILTER_LOADER_H
#define WAYMARK_SERVICES_REDIRECTOR_LOOKUP_BLOOM_FILTER_LOADER_H

#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/postgres/pg_pool.h"
#include "services/redirector/cache/watermark_tracker.h"
#include "services/redirector/lookup/slug_bloom_filter.h"
#include "services/redirector/lookup/unknown_slug_limiter.h"

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

struct bloom_filter_loader *bloom_filter_loader_start(
	const struct bloom_filter_loader_config *config);
/* Waits for a statement that is running. NULL is allowed. */
void bloom_filter_loader_stop(struct bloom_filter_loader *loader);

#endif
