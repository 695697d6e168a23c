/*
 * One thread at a time. Aggregates a batch of visits into the changes of link_statistics: one row
 * per link and one for the platform. Humans and bots are counted separately; latency covers both.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_STORAGE_STATISTICS_AGGREGATE_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_STORAGE_STATISTICS_AGGREGATE_H

#include <stddef.h>

#include "lib/clicks/statistics_store.h"
#include "services/analytics-consumer/storage/visit_order.h"

struct statistics_aggregate;

struct statistics_aggregate *statistics_aggregate_new(size_t visits_max);
void statistics_aggregate_free(struct statistics_aggregate *aggregate);

/*
 * Returns *rows rows in ascending order of link_id, so the platform (0) comes first. No visits give
 * no rows. The result is borrowed until the next call.
 */
const struct statistics *statistics_aggregate_sum(struct statistics_aggregate *aggregate,
                                                  const struct visit_order *order, size_t *rows);

#endif
