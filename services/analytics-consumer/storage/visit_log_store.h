/*
 * One thread at a time. Every counted visit: the table visit_log. Its primary key (day, event_id)
 * rejects duplicates. Its index visit_log_visitor_idx (day, link_id, visitor_hash) allows one
 * unique visit per visitor. A day without its own partition goes into the default partition.
 *
 * Duplicates are rare, so rows are inserted by COPY as if there were none: ON CONFLICT DO NOTHING
 * takes about twice as long. When the insert meets a duplicate, the caller's transaction fails. The
 * caller repeats it and first calls visit_log_store_drop_duplicates.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_STORAGE_VISIT_LOG_STORE_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_STORAGE_VISIT_LOG_STORE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"
#include "lib/postgres/pg_conn.h"
#include "services/analytics-consumer/storage/visit_order.h"

struct visit_log_store;

/* visits_max: the most visits that a call receives. */
struct visit_log_store *visit_log_store_new(size_t visits_max);
void visit_log_store_free(struct visit_log_store *store);

/* Visits that the log already has become VISIT_DUPLICATE and are removed from the order. */
enum err visit_log_store_drop_duplicates(struct visit_log_store *store, struct pg_conn *conn,
                                         struct visit_order *order) MUST_CHECK;

/*
 * Sets seen[i] to whether the log has a unique visit by the visitor of visits[i] to the same link
 * on the same day. visits are sorted by day and have visitor hashes.
 */
enum err visit_log_store_find_visitors(struct visit_log_store *store, struct pg_conn *conn,
                                       struct visit *const *visits, size_t count,
                                       bool *seen) MUST_CHECK;

/*
 * Sends the visits, of which there is one at least, to be inserted in their order. PostgreSQL still
 * inserts them when this returns; until visit_log_store_await, conn is for nothing else.
 */
enum err visit_log_store_send(struct visit_log_store *store, struct pg_conn *conn,
                              const struct visit_order *order) MUST_CHECK;
/*
 * Waits until the visits are inserted. ERR_CONFLICT: one is a duplicate, or is marked as unique
 * although the log has its visitor. The transaction has then failed.
 */
enum err visit_log_store_await(struct pg_conn *conn) MUST_CHECK;

/*
 * Loads the event of every VISIT_ALREADY_COUNTED from the log, so that the second publication
 * equals the first one. A visit that the log no longer has, because its day was dropped, becomes
 * VISIT_DUPLICATE.
 */
enum err visit_log_store_reload(struct visit_log_store *store, struct pg_conn *conn,
                                struct visit *visits, size_t count) MUST_CHECK;

#endif
