/*
 * One thread at a time. The visits of a batch that count, in the one order in which they are stored: by day, link and
 * visitor, of one visitor by event_id (in the order of time), and as they came. An event says for itself which day,
 * link and visitor are its own, so whoever stores in this order takes the keys of events and of visitors alike in
 * the order of all others, and nobody waits in a circle.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_VISIT_ORDER_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_VISIT_ORDER_H

#include <stdbool.h>
#include <stddef.h>

#include "services/analytics-consumer/visit.h"

struct visit_order {
	struct visit **visits; /* count of them, borrowed from the batch */
	size_t count;
	struct visit_place *places;
};

void visit_order_init(struct visit_order *order, size_t visits_max);
void visit_order_clear(struct visit_order *order);

/* Takes the new visits; the rest are left out. One that comes a second time becomes VISIT_REPEAT, and is as well. */
void visit_order_sort(struct visit_order *order, struct visit *visits, size_t count);

/* Leaves out what has become VISIT_REPEAT. */
void visit_order_drop_repeats(struct visit_order *order);

/* Whether both are of one visitor to one link on one day. Visits without a hash are of nobody, also of nobody else. */
bool visit_order_is_same_visitor(const struct visit *left, const struct visit *right);

#endif
