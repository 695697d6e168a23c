#include "services/analytics-consumer/storage/visit_order.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/mem.h"

/*
 * What a comparison usually needs, side by side in memory. Visits themselves are large, so
 * comparing them directly would miss the CPU cache.
 */
struct visit_sort_key {
	int64_t link_id;
	/* The first eight bytes of the hash. */
	uint64_t visitor;
	struct visit *visit;
	int32_t day;
};

void visit_order_init(struct visit_order *order, size_t visits_max)
{
	*order = (struct visit_order){ .visits = mem_array(visits_max, sizeof(struct visit *)),
		                       .keys = mem_array(visits_max,
		                                         sizeof(struct visit_sort_key)) };
}

void visit_order_clear(struct visit_order *order)
{
	free(order->visits);
	free(order->keys);
	*order = (struct visit_order){ 0 };
}

static int compare_rest(const struct visit *left, const struct visit *right)
{
	int order = memcmp(left->visitor_hash, right->visitor_hash, sizeof(left->visitor_hash));
	if (order == 0)
		order = memcmp(left->event.event_id, right->event.event_id,
		               sizeof(left->event.event_id));
	return order != 0 ? order : (left > right) - (left < right);
}

static int by_key(const void *a, const void *b)
{
	const struct visit_sort_key *left = a;
	const struct visit_sort_key *right = b;
	if (left->day != right->day)
		return left->day < right->day ? -1 : 1;
	if (left->link_id != right->link_id)
		return left->link_id < right->link_id ? -1 : 1;
	if (left->visitor != right->visitor)
		return left->visitor < right->visitor ? -1 : 1;
	return compare_rest(left->visit, right->visit);
}

static struct visit_sort_key key_of(struct visit *visit)
{
	uint64_t visitor;
	memcpy(&visitor, visit->visitor_hash, sizeof(visitor));
	return (struct visit_sort_key){ .link_id = visit->event.link_id,
		                        .visitor = be64toh(visitor),
		                        .visit = visit,
		                        .day = visit->day };
}

static bool is_same_event(const struct visit *left, const struct visit *right)
{
	return left->day == right->day && memcmp(left->event.event_id, right->event.event_id,
	                                         sizeof(left->event.event_id)) == 0;
}

void visit_order_drop_duplicates(struct visit_order *order)
{
	size_t kept = 0;
	for (size_t i = 0; i < order->count; i++) {
		if (order->visits[i]->disposition != VISIT_DUPLICATE)
			order->visits[kept++] = order->visits[i];
	}
	order->count = kept;
}

void visit_order_sort(struct visit_order *order, struct visit *visits, size_t count)
{
	order->count = 0;
	for (size_t i = 0; i < count; i++) {
		if (visits[i].disposition == VISIT_NEW)
			order->keys[order->count++] = key_of(&visits[i]);
	}
	qsort(order->keys, order->count, sizeof(*order->keys), by_key);
	for (size_t i = 0; i < order->count; i++) {
		order->visits[i] = order->keys[i].visit;
		if (i > 0 && is_same_event(order->visits[i - 1], order->visits[i]))
			order->visits[i]->disposition = VISIT_DUPLICATE;
	}
	visit_order_drop_duplicates(order);
}

bool visit_order_is_same_visitor(const struct visit *left, const struct visit *right)
{
	return left->has_visitor_hash && right->has_visitor_hash && left->day == right->day &&
	       left->event.link_id == right->event.link_id &&
	       memcmp(left->visitor_hash, right->visitor_hash, sizeof(left->visitor_hash)) == 0;
}
