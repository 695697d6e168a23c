/*
 * One thread at a time. Click path 7/9. Stores a batch in one transaction: everything or nothing.
 *
 *   1. fence           each partition moves from what the batch expects to where it ends, or the batch is not ours
 *   2. dead letters    acknowledged by Kafka before the offset that passes them can be committed
 *   3. visitors        who is unique today: of each, one visit, which the log's index makes sure of
 *   4. visit_log       repeats are dropped by its primary key
 *   5. roll-ups        of what was not dropped
 *   6. statistics      per link and for the platform: last, because all consumers meet at the platform's row
 *
 * Rows go in in one order everywhere, so consumers never wait for each other in a circle. All but the visit log is sent
 * in messages that the server has whole before it acts, so a consumer that is frozen holds its locks no longer than
 * idle_in_transaction_session_timeout. One that is frozen while it sends the visit log is cut off by whoever waits for
 * it, after as long.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_VISIT_STORE_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_VISIT_STORE_H

#include <stddef.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/net/kafka_producer.h"
#include "lib/net/pg_pool.h"
#include "services/analytics-consumer/batch.h"
#include "services/analytics-consumer/progress.h"

struct visit_store;

struct visit_store_config {
	struct pg_pool *pool;
	struct kafka_producer *producer; /* for dead letters */
	const char *topic;
	size_t visits_max;
	const struct log *log;
};

struct visit_store *visit_store_new(const struct visit_store_config *config);
void visit_store_free(struct visit_store *store);

/* What was learnt from batches before is not to be relied on: partitions have been taken over. */
void visit_store_forget(struct visit_store *store);

/*
 * OK: it is stored, once, and each visit's fate and event.unique are set; those counted before have their event from
 * the log. progress is left as it is.
 * ERR_CONFLICT: fenced, another owner is at work; nothing of it is stored: throw it away and rejoin.
 * ERR_UNAVAILABLE, ERR_LIMIT: not stored as far as we know (batch->in_doubt: nobody knows); try the same batch again,
 * which first finds out.
 * Anything else: PostgreSQL refuses it, which is a bug; logged.
 */
enum err visit_store_add(struct visit_store *store, struct batch *batch, const struct progress *progress) MUST_CHECK;

#endif
