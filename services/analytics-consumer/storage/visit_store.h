/*
 * One thread at a time. Stores a batch in one PostgreSQL transaction, all or nothing:
 *
 *   1. fence         each partition's offset advances from where the batch expects it
 *   2. dead letters  Kafka acknowledges them before an offset that passes them can be committed
 *   3. visitors      decides which visits are unique; an index of the visit log enforces it
 *   4. visit_log     the primary key rejects duplicates
 *   5. roll-ups      of the visits that are not duplicates, as rows that are only inserted
 *   6. statistics    per link and for the platform; last, because its row is contended most
 *
 * All consumers insert rows in the same order, so they cannot deadlock. A frozen consumer holds its
 * locks no longer than idle_in_transaction_session_timeout; one that freezes within a statement is
 * terminated, after the same time, by a consumer that waits for it (pg_conn_frozen_terminate).
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_STORAGE_VISIT_STORE_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_STORAGE_VISIT_STORE_H

#include <stddef.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/clicks/statistics_store.h"
#include "lib/kafka/kafka_producer.h"
#include "lib/postgres/pg_pool.h"
#include "services/analytics-consumer/storage/batch.h"
#include "services/analytics-consumer/storage/offsets.h"
#include "services/analytics-consumer/storage/visit_order.h"

struct visit_store;

struct visit_store_config {
	struct pg_pool *pool;
	/* For dead letters. */
	struct kafka_producer *producer;
	const char *topic;
	size_t visits_max;
	const struct log *log;
};

struct visit_store *visit_store_new(const struct visit_store_config *config);
void visit_store_free(struct visit_store *store);

/* Forgets what earlier batches taught about visitors: partitions were assigned anew. */
void visit_store_invalidate(struct visit_store *store);

/*
 * Stores the batch. offsets is not changed.
 *
 *   - OK: the batch is stored exactly once. Each visit has its disposition, event.is_unique,
 *     workspace and tags, which live as long as the batch. Visits that were already counted have
 *     their event from the log.
 *   - ERR_CONFLICT: fenced, another owner is active. Nothing of the batch is stored: discard it and
 *     rejoin.
 *   - ERR_UNAVAILABLE, ERR_LIMIT: not stored, or unknown if batch->in_doubt. Try the same batch
 *     again; the next call first finds out what happened.
 *   - Anything else: PostgreSQL refuses the batch, which is a bug (logged).
 */
enum err visit_store_add(struct visit_store *store, struct batch *batch,
                         const struct offsets *offsets) MUST_CHECK;

/*
 * Pure. Sums a batch into the changes of link_statistics: one row per link and one for the platform,
 * in ascending order of link_id, so the platform (0) comes first. Humans and bots are counted
 * separately; latency covers both. No visits give no rows. Returns the number of rows.
 * rows has room for one more than order has visits; sorted, which is overwritten, for all of them.
 */
size_t visit_store_sum(const struct visit_order *order, const struct visit **sorted,
                       struct statistics *rows);

#endif
