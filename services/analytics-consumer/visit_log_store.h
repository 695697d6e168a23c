/*
 * One thread at a time. Every counted visit: the table visit_log. Its primary key (day, event_id) drops repeats; its
 * index visit_log_visitor_idx (day, link_id, visitor_hash) lets one visit of a visitor be unique. A day without a
 * partition of its own goes into the default one.
 *
 * Repeats are rare, so rows go in by COPY as if there were none: ON CONFLICT DO NOTHING takes about twice as long. When
 * one shows up, the caller's transaction has failed and is done again with looking for repeats before.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_VISIT_LOG_STORE_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_VISIT_LOG_STORE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"
#include "lib/net/pg_conn.h"
#include "services/analytics-consumer/visit_order.h"

struct visit_log_store;

/* visits_max: the most that each of the functions will get. */
struct visit_log_store *visit_log_store_new(size_t visits_max);
void visit_log_store_free(struct visit_log_store *store);

/* Those that are in the log already become VISIT_REPEAT, and leave the order. */
enum err visit_log_store_drop_repeats(struct visit_log_store *store, struct pg_conn *conn,
                                      struct visit_order *order) MUST_CHECK;

/*
 * Whether the log has a unique visit of each one's visitor to his link on his day; visits are in the order of days, and
 * have visitor hashes.
 */
enum err visit_log_store_find_visitors(struct visit_log_store *store, struct pg_conn *conn, struct visit *const *visits,
                                       size_t count, bool *seen) MUST_CHECK;

/*
 * Adds the visits in their order. ERR_CONFLICT: one is a repeat (visit_log_store_met_repeat), or unique though its
 * visitor is in the log; nothing in the transaction counts any more.
 */
enum err visit_log_store_insert(struct visit_log_store *store, struct pg_conn *conn,
                                const struct visit_order *order) MUST_CHECK;

/* After ERR_CONFLICT: whether it was a repeat. */
bool visit_log_store_met_repeat(const struct pg_conn *conn);

/*
 * Cuts off who is frozen in the middle of insert and keeps others from their partitions (pg_conn_copy). *cut: how
 * many.
 */
enum err visit_log_store_cut_frozen(struct pg_conn *conn, int64_t *cut) MUST_CHECK;

/*
 * Replaces the event of every visit that was counted before by what the log has of it, so that what is published again
 * is what was published first. One that is not there any more (its day was dropped) becomes VISIT_REPEAT.
 */
enum err visit_log_store_reload(struct visit_log_store *store, struct pg_conn *conn, struct visit *visits,
                                size_t count) MUST_CHECK;

#endif
