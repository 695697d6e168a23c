/*
 * Safe from any thread. Fills a slug_filter from PostgreSQL: a thread that, whenever the feed of events covers anew,
 * reads all slugs of the table links in short statements. Slugs that are issued meanwhile come with the feed.
 *
 * Each second, and every 100 ms while somebody waits at the gate, it also looks for links that came past links-api, by
 * hand or by an import: they have no events, and should not be denied all the same.
 *
 * Purged slugs are left out on purpose: they are answered 404, as those that never were.
 */
#ifndef WAYMARK_SERVICES_REDIRECTOR_FILTER_LOADER_H
#define WAYMARK_SERVICES_REDIRECTOR_FILTER_LOADER_H

#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/net/pg_pool.h"
#include "services/redirector/feed_progress.h"
#include "services/redirector/slug_filter.h"
#include "services/redirector/unknown_gate.h"

struct filter_loader;

/* Everything is borrowed. */
struct filter_loader_config {
	struct slug_filter *filter;
	struct unknown_gate *gate;
	const struct feed_progress *progress;
	struct pg_pool *postgres; /* one connection is used now and then */
	const struct log *log;
	struct metrics *metrics;
};

struct filter_loader *filter_loader_start(const struct filter_loader_config *config);
/* Waits for a statement under way. NULL is allowed. */
void filter_loader_stop(struct filter_loader *loader);

#endif
