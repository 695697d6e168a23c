/*
 * One thread at a time per connection. Visits per link and quarter of an hour (the table visit_rollup_quarter), and per
 * link, dimension, value and hour (visit_rollup_hour); those of days that the janitor has finished (finished_days.h) also
 * by UTC day (visit_total_day, visit_rollup_day).
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_ROLLUP_STORE_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_ROLLUP_STORE_H

#include <stddef.h>

#include "lib/base/err.h"
#include "lib/net/pg_conn.h"
#include "services/analytics-consumer/rollup.h"

struct rollup_store;

struct rollup_store *rollup_store_new(size_t visits_max);
void rollup_store_free(struct rollup_store *store);

/*
 * Adds the sums of rollup, which are those of its last call, to what is stored; the tables one after the other, each in
 * the order that they come in: so that two writers never wait in a circle. Waits while somebody finishes one of their
 * days; from then until the transaction ends nobody does.
 */
enum err rollup_store_add(struct rollup_store *store, struct pg_conn *conn, struct rollup *rollup,
                          const struct rollup_sums *sums) MUST_CHECK;

#endif
