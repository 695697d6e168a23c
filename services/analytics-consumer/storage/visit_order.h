/*
 * One thread at a time. Sorts the new visits of a batch into the order in which every consumer
 * stores them: by day, link, visitor and event_id (which is the order of time), then by arrival.
 * Because all consumers insert the keys of events and of visitors in this same order, they cannot
 * deadlock.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_STORAGE_VISIT_ORDER_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_STORAGE_VISIT_ORDER_H

#include <stdbool.h>
#include <stddef.h>

#include "services/analytics-consumer/facts/visit.h"

struct visit_order {
	/* Count pointers into the batch. */
	struct visit **visits;
	size_t count;
	struct visit_sort_key *keys;
};

void visit_order_init(struct visit_order *order, size_t visits_max);
void visit_order_clear(struct visit_order *order);

/*
 * Selects and sorts the new visits. An event that occurs twice in the batch: the second visit
 * becomes VISIT_DUPLICATE.
 */
void visit_order_sort(struct visit_order *order, struct visit *visits, size_t count);

/* Removes visits that have become VISIT_DUPLICATE since. */
void visit_order_drop_duplicates(struct visit_order *order);

/* True for two visits by one visitor to one link on one day. Without a hash: false. */
bool visit_order_is_same_visitor(const struct visit *left, const struct visit *right);

#endif
