#include "services/analytics-consumer/storage/unique_visitors.h"

#include <stdlib.h>

#include "lib/base/mem.h"
#include "services/analytics-consumer/storage/visitor_cache.h"

/* Look-ups stop after this many batches in which the log had no visitor that the cache lacked. */
#define LOOKUP_BATCHES 20
#define VISITORS_CACHED ((size_t)1 << 20)

struct unique_visitors {
	struct visitor_cache *cache;
	unsigned lookup_batches_left;
	/* The first visit of each visitor in the batch, in the order of the visits. */
	struct visit **firsts;
	size_t firsts_count;
	/* Those that the cache does not have. */
	struct visit **unknown;
	bool *seen;
};

struct unique_visitors *unique_visitors_new(size_t visits_max)
{
	struct unique_visitors *visitors = mem_zero(sizeof(*visitors));
	visitors->cache = visitor_cache_new(VISITORS_CACHED);
	visitors->lookup_batches_left = LOOKUP_BATCHES;
	visitors->firsts = mem_array(visits_max, sizeof(struct visit *));
	visitors->unknown = mem_array(visits_max, sizeof(struct visit *));
	visitors->seen = mem_array(visits_max, sizeof(bool));
	return visitors;
}

void unique_visitors_free(struct unique_visitors *visitors)
{
	if (!visitors)
		return;
	visitor_cache_free(visitors->cache);
	free(visitors->firsts);
	free(visitors->unknown);
	free(visitors->seen);
	free(visitors);
}

static void find_firsts(struct unique_visitors *visitors, const struct visit_order *order)
{
	visitors->firsts_count = 0;
	for (size_t i = 0; i < order->count; i++) {
		struct visit *visit = order->visits[i];
		visit->event.is_unique = false;
		if (!visit->has_visitor_hash || visit->event.is_bot)
			continue;
		if (visitors->firsts_count == 0 ||
		    !visit_order_is_same_visitor(visitors->firsts[visitors->firsts_count - 1],
		                                 visit))
			visitors->firsts[visitors->firsts_count++] = visit;
	}
}

/* Marks visitors that the cache does not have as unique. Returns their number. */
static size_t find_unknown(struct unique_visitors *visitors)
{
	size_t count = 0;
	for (size_t i = 0; i < visitors->firsts_count; i++) {
		struct visit *visit = visitors->firsts[i];
		visit->event.is_unique = !visitor_cache_contains(visitors->cache, visit);
		if (visit->event.is_unique)
			visitors->unknown[count++] = visit;
	}
	return count;
}

enum err unique_visitors_find(struct unique_visitors *visitors, struct visit_log_store *visit_log,
                              struct pg_conn *conn, const struct visit_order *order)
{
	find_firsts(visitors, order);
	size_t count = find_unknown(visitors);
	if (visitors->lookup_batches_left == 0)
		return OK;
	enum err err = visit_log_store_find_visitors(visit_log, conn, visitors->unknown, count,
	                                             visitors->seen);
	for (size_t i = 0; err == OK && i < count; i++) {
		if (!visitors->seen[i])
			continue;
		visitors->unknown[i]->event.is_unique = false;
		visitors->lookup_batches_left = LOOKUP_BATCHES;
	}
	return err;
}

void unique_visitors_commit(struct unique_visitors *visitors)
{
	visitors->lookup_batches_left -= visitors->lookup_batches_left > 0;
	for (size_t i = 0; i < visitors->firsts_count; i++)
		visitor_cache_add(visitors->cache, visitors->firsts[i]);
}

void unique_visitors_resume_lookups(struct unique_visitors *visitors)
{
	visitors->lookup_batches_left = LOOKUP_BATCHES;
}

void unique_visitors_invalidate(struct unique_visitors *visitors)
{
	visitor_cache_clear(visitors->cache);
	unique_visitors_resume_lookups(visitors);
}
