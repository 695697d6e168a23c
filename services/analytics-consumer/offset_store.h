/*
 * One thread at a time per connection. How far each partition has been counted: the table consumer_offsets. The only
 * place that decides who may count: inside the transaction of a batch, each partition's row moves from what the batch
 * expects to where it ends, or the batch belongs to somebody who is no longer the owner.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_OFFSET_STORE_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_OFFSET_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/net/pg_conn.h"
#include "services/analytics-consumer/progress.h"

/*
 * Fills partition, stored, record, published and strand of each of out, in the order of partitions. One that has no row
 * gets one: from then on it is known that its clicks are to be counted.
 */
enum err offset_store_read(struct pg_conn *conn, const char *topic, const int32_t *partitions, size_t count,
                           struct progress_partition *out) MUST_CHECK;

/*
 * The fence. Moves every partition that the batch moves from stored to next, in the order of partition. What was handed
 * to Kafka must have been acknowledged: the row says from then on that it is published. ERR_CONFLICT: at least one
 * stands elsewhere; the transaction must be rolled back and the batch thrown away. One that is stranded stands elsewhere.
 */
enum err offset_store_advance(struct pg_conn *conn, const char *topic, const struct progress *progress) MUST_CHECK;

/*
 * The partition stands still from now on, whoever gets it, until consumer_offsets_resume (0023_stranded.sql) is called;
 * unless somebody else has moved it.
 */
enum err offset_store_strand(struct pg_conn *conn, const char *topic,
                             const struct progress_partition *partition) MUST_CHECK;

enum offset_store_outcome {
	OFFSET_STORE_NOT_STORED, /* every partition stands where the batch expects it */
	OFFSET_STORE_STORED,     /* every partition stands where the batch ends */
	OFFSET_STORE_FENCED,     /* somebody else has moved one */
};

/* After a COMMIT without an answer: what became of the batch. */
enum err offset_store_find_outcome(struct pg_conn *conn, const char *topic, const struct progress *progress,
                                   enum offset_store_outcome *out) MUST_CHECK;

/*
 * Says of the partitions whose visits were all handed to Kafka (and acknowledged) that they are published; those that
 * somebody else has moved are left alone. as_of_us: up to then all clicks that Kafka has of those that are caught up
 * were counted; 0 = not known.
 */
enum err offset_store_mark_published(struct pg_conn *conn, const char *topic, const struct progress *progress,
                                     int64_t as_of_us) MUST_CHECK;

#endif
