/*
 * One thread at a time per connection. The offset up to which each partition is counted: the table
 * consumer_offsets. This is the fence that decides who may count. Inside the transaction of a
 * batch, the row of each partition advances from where the batch expects it to where the batch
 * ends. If a row is elsewhere, another owner has taken the partition over.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_STORAGE_OFFSET_STORE_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_STORAGE_OFFSET_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/postgres/pg_conn.h"
#include "services/analytics-consumer/storage/offsets.h"

/*
 * Fills partition, stored, fingerprint, published, is_dated and halt_reason of each element of out,
 * in the order of partitions. Creates missing rows: from then on the store knows that the clicks of
 * the partition are to be counted.
 */
enum err offset_store_read(struct pg_conn *conn, const char *topic, const int32_t *partitions,
                           size_t count, struct offsets_partition *out) MUST_CHECK;

/*
 * The fence. Advances every partition of the batch from stored to next_stored, in the order of
 * partition. Visits handed to Kafka must have been acknowledged: the row marks them as published.
 * ERR_CONFLICT: at least one partition is elsewhere or halted. Roll the transaction back and
 * discard the batch.
 */
enum err offset_store_advance(struct pg_conn *conn, const char *topic,
                              const struct offsets *offsets) MUST_CHECK;

/*
 * Halts the partition for every owner until consumer_offsets_resume is called. Does nothing if
 * another owner has advanced it.
 */
enum err offset_store_halt(struct pg_conn *conn, const char *topic,
                           const struct offsets_partition *partition) MUST_CHECK;

enum offset_store_outcome {
	OFFSET_STORE_NOT_STORED, /* every partition is where the batch starts */
	OFFSET_STORE_STORED,     /* every partition is where the batch ends */
	OFFSET_STORE_FENCED,     /* another owner has advanced a partition */
};

/* Finds out whether a batch was stored when its COMMIT had no answer. */
enum err offset_store_find_outcome(struct pg_conn *conn, const char *topic,
                                   const struct offsets *offsets,
                                   enum offset_store_outcome *out) MUST_CHECK;

/*
 * Marks partitions as published whose visits were all handed to Kafka and acknowledged. Skips
 * partitions that another owner has advanced. as_of_us: in the partitions that are caught up, every
 * click that Kafka had up to then is counted; 0 = unknown.
 */
enum err offset_store_mark_published(struct pg_conn *conn, const char *topic,
                                     const struct offsets *offsets, int64_t as_of_us) MUST_CHECK;

#endif
