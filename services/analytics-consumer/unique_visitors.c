#include "services/analytics-consumer/unique_visitors.h"

#include <stdlib.h>

#include "lib/base/mem.h"
#include "services/analytics-consumer/visitor_memory.h"

/* For so many batches visitors are looked up without any that the log has and the memory has not. */
#define LOOK_UP_BATCHES 20
#define VISITORS_REMEMBERED ((size_t)1 << 20)

struct unique_visitors {
	struct visitor_memory *memory;
	unsigned look_up;      /* batches left */
	struct visit **firsts; /* of each visitor of the batch, in the visits' order */
	size_t firsts_count;
	struct visit **asked; /* those that are looked up */
	bool *seen;
};

struct unique_visitors *unique_visitors_new(size_t visits_max)
{
	struct unique_visitors *visitors = mem_zero(sizeof(*visitors));
	visitors->memory = visitor_memory_new(VISITORS_REMEMBERED);
	visitors->look_up = LOOK_UP_BATCHES;
	visitors->firsts = mem_array(visits_max, sizeof(struct visit *));
	visitors->asked = mem_array(visits_max, sizeof(struct visit *));
	visitors->seen = mem_array(visits_max, sizeof(bool));
	return visitors;
}

void unique_visitors_free(struct unique_visitors *visitors)
{
	if (!visitors)
		return;
	visitor_memory_free(visitors->memory);
	free(visitors->firsts);
	free(visitors->asked);
	free(visitors->seen);
	free(visitors);
}

static void find_firsts(struct unique_visitors *visitors, const struct visit_order *order)
{
	visitors->firsts_count = 0;
	for (size_t i = 0; i < order->count; i++) {
		struct visit *visit = order->visits[i];
		visit->event.unique = false;
		if (!visit->has_visitor_hash || visit->event.is_bot)
			continue;
		if (visitors->firsts_count == 0 ||
		    !visit_order_is_same_visitor(visitors->firsts[visitors->firsts_count - 1], visit))
			visitors->firsts[visitors->firsts_count++] = visit;
	}
}

/* Those of whom it is not known that they have been before. Gives how many. */
static size_t ask_memory(struct unique_visitors *visitors)
{
	size_t count = 0;
	for (size_t i = 0; i < visitors->firsts_count; i++) {
		struct visit *visit = visitors->firsts[i];
		visit->event.unique = !visitor_memory_knows(visitors->memory, visit);
		if (visit->event.unique)
			visitors->asked[count++] = visit;
	}
	return count;
}

enum err unique_visitors_find(struct unique_visitors *visitors, struct visit_log_store *visit_log, struct pg_conn *conn,
                              const struct visit_order *order)
{
	find_firsts(visitors, order);
	size_t count = ask_memory(visitors);
	if (visitors->look_up == 0)
		return OK;
	enum err err = visit_log_store_find_visitors(visit_log, conn, visitors->asked, count, visitors->seen);
	for (size_t i = 0; err == OK && i < count; i++) {
		if (!visitors->seen[i])
			continue;
		visitors->asked[i]->event.unique = false;
		visitors->look_up = LOOK_UP_BATCHES;
	}
	return err;
}

void unique_visitors_keep(struct unique_visitors *visitors)
{
	visitors->look_up -= visitors->look_up > 0;
	for (size_t i = 0; i < visitors->firsts_count; i++)
		visitor_memory_add(visitors->memory, visitors->firsts[i]);
}

void unique_visitors_doubt(struct unique_visitors *visitors)
{
	visitors->look_up = LOOK_UP_BATCHES;
}

void unique_visitors_forget(struct unique_visitors *visitors)
{
	visitor_memory_forget(visitors->memory);
	unique_visitors_doubt(visitors);
}
