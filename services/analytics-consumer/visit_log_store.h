/*
 * One thread at a time. Every counted visit: the table visit_log, whose primary key (day, event_id) is what drops
 * repeats. A day without a partition of its own goes into the default one.
 *
 * Repeats are rare, so rows are inserted as if there were none: that costs no more than COPY, while ON CONFLICT DO
 * NOTHING takes about a third longer. When a repeat shows up, the caller's transaction has failed and is done again
 * with the look-out for repeats; the next batches then keep looking out for a while.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_VISIT_LOG_STORE_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_VISIT_LOG_STORE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"
#include "lib/net/pg_conn.h"
#include "services/analytics-consumer/visit_order.h"

struct visit_log_store;

/* visits_max: the most that insert and reload will get. */
struct visit_log_store *visit_log_store_new(size_t visits_max);
void visit_log_store_free(struct visit_log_store *store);

/*
 * Inserts visits in their order. Looks out: those that are in the log already, or come a second time, become
 * VISIT_REPEAT. Otherwise they are ERR_CONFLICT, and nothing in the transaction counts any more. So is, in any case, a
 * unique visitor whom the log has (visitor_store.h); visit_log_store_met_repeat tells one from the other.
 */
enum err visit_log_store_insert(struct visit_log_store *store, struct pg_conn *conn, bool looks_out,
                                const struct visit_order *order) MUST_CHECK;

/* After ERR_CONFLICT: whether it was a repeat. */
bool visit_log_store_met_repeat(const struct pg_conn *conn);

/*
 * Replaces the event of every visit that was counted before by what the log has of it, so that what is published again
 * is what was published first. One that is not there any more (its day was dropped) becomes VISIT_REPEAT.
 */
enum err visit_log_store_reload(struct visit_log_store *store, struct pg_conn *conn, struct visit *visits,
                                size_t count) MUST_CHECK;

#endif
