/*
 * One thread at a time. Adds a batch of visits up to what it changes in link_statistics: one row per link, and the
 * platform's. Humans and bots count apart; latency is that of both.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_TALLY_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_TALLY_H

#include <stddef.h>

#include "lib/clicks/statistics_store.h"
#include "services/analytics-consumer/visit_order.h"

struct tally;

struct tally *tally_new(size_t visits_max);
void tally_free(struct tally *tally);

/*
 * In rising order of link_id, so the platform (0) comes first. No visits, no rows. Borrowed until
 * the next call.
 */
const struct statistics *tally_sum(struct tally *tally, const struct visit_order *order, size_t *rows);

#endif
