/*
 * One thread at a time per connection. Adds aggregated visits to the roll-up tables: per link and
 * quarter of an hour (visit_rollup_quarter), and per link, dimension, value and hour
 * (visit_rollup_hour). Visits of days that the janitor has finished (finished_days.h) are also
 * added by UTC day (visit_total_day, visit_rollup_day).
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
 * Adds sums, the result of the last rollup_sum of rollup. Tables and rows are written in a fixed
 * order, so that two writers cannot deadlock. Waits while another process finishes one of the days;
 * until the transaction ends, no process can finish one of them.
 */
enum err rollup_store_add(struct rollup_store *store, struct pg_conn *conn, struct rollup *rollup,
                          const struct rollup_sums *sums) MUST_CHECK;

#endif
