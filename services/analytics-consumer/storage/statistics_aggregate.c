#include "services/analytics-consumer/storage/statistics_aggregate.h"

#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"

struct statistics_aggregate {
	const struct visit **sorted;
	/* One for the platform and one per link. */
	struct statistics *rows;
};

struct statistics_aggregate *statistics_aggregate_new(size_t visits_max)
{
	struct statistics_aggregate *aggregate = mem_zero(sizeof(*aggregate));
	aggregate->sorted = mem_array(visits_max, sizeof(struct visit *));
	aggregate->rows = mem_array(visits_max + 1, sizeof(struct statistics));
	return aggregate;
}

void statistics_aggregate_free(struct statistics_aggregate *aggregate)
{
	if (!aggregate)
		return;
	free(aggregate->sorted);
	free(aggregate->rows);
	free(aggregate);
}

static int by_link(const void *a, const void *b)
{
	const struct visit *left = *(const struct visit *const *)a;
	const struct visit *right = *(const struct visit *const *)b;
	if (left->event.link_id != right->event.link_id)
		return left->event.link_id < right->event.link_id ? -1 : 1;
	return (left > right) - (left < right);
}

static void add(struct statistics *row, const struct visit *visit)
{
	row->visit_count += !visit->event.is_bot;
	row->bot_count += visit->event.is_bot;
	row->unique_visitors += visit->event.is_unique;
	if (visit->event.occurred_at_us > row->last_visited_at_us)
		row->last_visited_at_us = visit->event.occurred_at_us;
	welford_add(&row->latency_ms, (double)visit->event.latency_us / (double)CLOCK_US_PER_MS);
}

const struct statistics *statistics_aggregate_sum(struct statistics_aggregate *aggregate,
                                                  const struct visit_order *order, size_t *rows)
{
	size_t n = order->count;
	bool of_one_day = true;
	for (size_t i = 0; i < n; i++) {
		aggregate->sorted[i] = order->visits[i];
		of_one_day = of_one_day && order->visits[i]->day == order->visits[0]->day;
	}
	/* Visits of one day are already in the order of links. */
	if (!of_one_day)
		qsort(aggregate->sorted, n, sizeof(struct visit *), by_link);
	aggregate->rows[0] = (struct statistics){ .link_id = STATISTICS_STORE_PLATFORM };
	struct statistics *row = aggregate->rows;
	for (size_t i = 0; i < n; i++) {
		const struct visit *visit = aggregate->sorted[i];
		if (visit->event.link_id != row->link_id)
			*++row = (struct statistics){ .link_id = visit->event.link_id };
		add(row, visit);
		add(&aggregate->rows[0], visit);
	}
	*rows = n == 0 ? 0 : (size_t)(row - aggregate->rows) + 1;
	return aggregate->rows;
}
