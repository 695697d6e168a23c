#include "services/analytics-consumer/tally.h"

#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/mem.h"

struct tally {
	const struct visit **sorted;
	struct statistics *rows; /* the platform's and one per link */
};

struct tally *tally_new(size_t visits_max)
{
	struct tally *tally = mem_zero(sizeof(*tally));
	tally->sorted = mem_array(visits_max, sizeof(struct visit *));
	tally->rows = mem_array(visits_max + 1, sizeof(struct statistics));
	return tally;
}

void tally_free(struct tally *tally)
{
	if (!tally)
		return;
	free(tally->sorted);
	free(tally->rows);
	free(tally);
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
	row->unique_visitors += visit->event.unique;
	if (visit->event.occurred_at_us > row->last_visited_at_us)
		row->last_visited_at_us = visit->event.occurred_at_us;
	welford_add(&row->latency_ms, (double)visit->latency_us / (double)CLOCK_US_PER_MS);
}

const struct statistics *tally_sum(struct tally *tally, const struct visit_order *order, size_t *rows)
{
	size_t n = order->count;
	bool of_one_day = true;
	for (size_t i = 0; i < n; i++) {
		tally->sorted[i] = order->visits[i];
		of_one_day = of_one_day && order->visits[i]->day == order->visits[0]->day;
	}
	/* Of one day, they are in the order of links already. */
	if (!of_one_day)
		qsort(tally->sorted, n, sizeof(struct visit *), by_link);
	tally->rows[0] = (struct statistics){ .link_id = STATISTICS_STORE_PLATFORM };
	struct statistics *row = tally->rows;
	for (size_t i = 0; i < n; i++) {
		const struct visit *visit = tally->sorted[i];
		if (visit->event.link_id != row->link_id)
			*++row = (struct statistics){ .link_id = visit->event.link_id };
		add(row, visit);
		add(&tally->rows[0], visit);
	}
	*rows = n == 0 ? 0 : (size_t)(row - tally->rows) + 1;
	return tally->rows;
}
