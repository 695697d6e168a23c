/*
 * One thread at a time. A Kafka consumer in a group whose caller stores the offsets, in the
 * transaction that stores the consumed records. Offsets in Kafka are for lag monitors only.
 * auto.offset.reset=error turns a missing offset into an error, not into a silent skip. The
 * assignment is eager, so a revocation always covers all partitions.
 *
 * Records are polled one by one into the caller's batch, because rd_kafka_consume_batch is
 * unreliable in 2.0.2.
 */
#ifndef WAYMARK_LIB_KAFKA_KAFKA_CONSUMER_H
#define WAYMARK_LIB_KAFKA_KAFKA_CONSUMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/kafka/kafka_config.h"
#include "lib/kafka/kafka_message.h"

struct kafka_consumer;

#define KAFKA_CONSUMER_BEGINNING (-2) /* the oldest record that the topic still has */
#define KAFKA_CONSUMER_HALTED (-3)    /* the partition is assigned to us but not read */

/* Callbacks run inside kafka_consumer_poll and kafka_consumer_free, in the caller's thread. */
struct kafka_consumer_events {
	/*
	 * Partitions were assigned. Fill offsets[i] with the next offset to read of partitions[i],
	 * or with KAFKA_CONSUMER_BEGINNING or KAFKA_CONSUMER_HALTED. If the result is not OK, such
	 * as when the store is down, nothing is read; a poll after 500 ms calls again, unless the
	 * partitions were revoked meanwhile. It also calls again if librdkafka rejects the
	 * assignment (logged).
	 */
	enum err (*assigned)(void *ctx, const int32_t *partitions, size_t count, int64_t *offsets);
	/*
	 * All partitions were revoked. Called only after assigned returned OK. lost: another
	 * consumer may already read them, so discard what is not stored.
	 */
	void (*revoked)(void *ctx, bool lost);
	/*
	 * The offset does not exist: it is beyond the end, or retention removed it. The partition
	 * is not read until kafka_consumer_seek or another assignment.
	 */
	void (*offset_out_of_range)(void *ctx, int32_t partition, int64_t offset);
};

struct kafka_consumer_config {
	const struct kafka_config *kafka;
	const char *group;
	const char *topic;
	int64_t session_timeout_ms;
	struct kafka_consumer_events events;
	void *ctx;
	const struct log *log;
	/* May be NULL. */
	struct metrics *metrics;
};

/* Needs no reachable brokers. ERR_INVALID: librdkafka rejects the configuration (logged). */
enum err kafka_consumer_new(const struct kafka_consumer_config *config,
                            struct kafka_consumer **out) MUST_CHECK;

/*
 * OK: message is filled. ERR_NOT_FOUND: no record within timeout_ms. ERR_UNAVAILABLE: the same, and
 * no broker is connected (logged once per outage). ERR_INTERNAL: librdkafka failed permanently
 * (logged): free the consumer.
 */
enum err kafka_consumer_poll(struct kafka_consumer *c, int64_t timeout_ms,
                             struct kafka_message *message) MUST_CHECK;

/*
 * Reads partition again from offset, such as after a batch was discarded. Later polls return no
 * record fetched before the call. ERR_NOT_FOUND: the partition is not assigned to us, or halted.
 * ERR_UNAVAILABLE: not done within 5 s; rejoin.
 */
enum err kafka_consumer_seek(struct kafka_consumer *c, int32_t partition,
                             int64_t offset) MUST_CHECK;

/*
 * Halts partition: polls return none of its records until another assignment. ERR_NOT_FOUND: it is
 * not assigned to us. ERR_UNAVAILABLE: librdkafka failed; rejoin.
 */
enum err kafka_consumer_halt(struct kafka_consumer *c, int32_t partition) MUST_CHECK;

/*
 * Queries the broker for the offset of partition's oldest record (first) and of its next record to
 * come (end). ERR_UNAVAILABLE: no response within 5 s.
 */
enum err kafka_consumer_offset_range(struct kafka_consumer *c, int32_t partition, int64_t *first,
                                     int64_t *end) MUST_CHECK;

/* Returns all partitions (revoked) and joins again (assigned): after a stale fencing token. */
void kafka_consumer_rejoin(struct kafka_consumer *c);

/*
 * The sum of the lags of all assigned partitions: records between the last polled one and the end,
 * as the brokers reported it last. Partitions with an unknown end do not count.
 */
int64_t kafka_consumer_lag(const struct kafka_consumer *c);

#define KAFKA_CONSUMER_LAG_UNKNOWN (-1)

/*
 * The lag of one partition; 0 means that everything the partition held a moment ago has been
 * polled. KAFKA_CONSUMER_LAG_UNKNOWN: the partition is not read, its end is unknown, or a broker's
 * response is overdue, so the end may have moved.
 */
int64_t kafka_consumer_partition_lag(const struct kafka_consumer *c, int32_t partition);

/* Commits an offset to Kafka for lag monitors. Best effort: nothing depends on it. */
void kafka_consumer_commit_offset(struct kafka_consumer *c, int32_t partition, int64_t next_offset);

/* Leaves the group (calls revoked) and frees c. */
void kafka_consumer_free(struct kafka_consumer *c);

/*
 * As kafka_producer_is_reachable. Only kafka_consumer_poll updates it. Also false while our user
 * may not use the group or the topic (logged). Safe from any thread.
 */
bool kafka_consumer_is_reachable(void *c);

#endif
