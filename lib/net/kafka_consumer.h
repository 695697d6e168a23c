/*
 * One thread at a time. A Kafka consumer in a group (eager assignment, so that a revoke is whole) whose offsets are
 * kept elsewhere, in the transaction that stores what was consumed: nothing is committed to Kafka for correctness, and
 * auto.offset.reset=error makes an offset that is not there an error instead of a silent skip.
 *
 * Records are polled one by one into the caller's own batch (rd_kafka_consume_batch is unreliable in 2.0.2).
 */
#ifndef WAYMARK_LIB_NET_KAFKA_CONSUMER_H
#define WAYMARK_LIB_NET_KAFKA_CONSUMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/net/kafka_config.h"
#include "lib/net/kafka_message.h"

struct kafka_consumer;

#define KAFKA_CONSUMER_BEGINNING (-2) /* the oldest record that the topic still has */
#define KAFKA_CONSUMER_NOWHERE (-3)   /* the partition is ours, and not to be read */

/* The callbacks run inside kafka_consumer_poll and kafka_consumer_free, in the caller's thread. */
struct kafka_consumer_events {
	/*
	 * Partitions are ours now: fill offsets[i] with the next offset to read of partitions[i], or
	 * KAFKA_CONSUMER_BEGINNING, or KAFKA_CONSUMER_NOWHERE. Anything but OK (the store is away): nothing is read; asked again after 500 ms,
	 * by a later poll, unless the partitions have been revoked meanwhile. Also asked again where librdkafka refuses
	 * the assignment (logged).
	 */
	enum err (*assigned)(void *ctx, const int32_t *partitions, size_t count, int64_t *offsets);
	/*
	 * They are not ours any more; told only after assigned was OK. lost: another owner may have begun already;
	 * throw away what is not stored.
	 */
	void (*revoked)(void *ctx, bool lost);
	/*
	 * The wanted offset does not exist (beyond the end, or removed by retention). The partition is not read any
	 * more, until kafka_consumer_seek or another assignment.
	 */
	void (*stranded)(void *ctx, int32_t partition, int64_t offset);
};

struct kafka_consumer_config {
	const struct kafka_config *kafka;
	const char *group;
	const char *topic;
	int64_t session_timeout_ms;
	struct kafka_consumer_events events;
	void *ctx;
	const struct log *log;
	struct metrics *metrics; /* may be NULL */
};

/* Works without the brokers. ERR_INVALID: librdkafka refuses the configuration (logged). */
enum err kafka_consumer_new(const struct kafka_consumer_config *config, struct kafka_consumer **out) MUST_CHECK;

/*
 * OK: message is filled. ERR_NOT_FOUND: nothing within timeout_ms. ERR_UNAVAILABLE: the same, and no broker is
 * connected (logged once per outage). ERR_INTERNAL: librdkafka has failed for good (logged): free the consumer.
 */
enum err kafka_consumer_poll(struct kafka_consumer *c, int64_t timeout_ms, struct kafka_message *message) MUST_CHECK;

/*
 * The value of a header of the last polled record, with a NUL. ERR_NOT_FOUND: it has none of that name. ERR_LIMIT: it
 * is longer than size - 1 bytes.
 */
enum err kafka_consumer_header(const struct kafka_consumer *c, const char *name, char *out, size_t size) MUST_CHECK;

/*
 * Reads partition from offset again (after a batch was thrown away); no record from before the call is polled any more.
 * ERR_NOT_FOUND: the partition is not ours. ERR_UNAVAILABLE: it did not work within 5 s; rejoin.
 */
enum err kafka_consumer_seek(struct kafka_consumer *c, int32_t partition, int64_t offset) MUST_CHECK;

/*
 * No record of partition is polled any more, until another assignment. ERR_NOT_FOUND: it is not ours. ERR_UNAVAILABLE:
 * it did not work; rejoin.
 */
enum err kafka_consumer_stop(struct kafka_consumer *c, int32_t partition) MUST_CHECK;

/*
 * Asks the broker for the offset of partition's oldest record, and for the one that the next to come will have.
 * ERR_UNAVAILABLE: no answer within 5 s.
 */
enum err kafka_consumer_ends(struct kafka_consumer *c, int32_t partition, int64_t *first, int64_t *end) MUST_CHECK;

/* Gives all partitions back (revoked, then assigned anew): after the fence said that another owner is active. */
void kafka_consumer_rejoin(struct kafka_consumer *c);

/*
 * Records between the last polled one and the end of each assigned partition, as last told by the brokers; those of
 * which nothing was told are left out.
 */
int64_t kafka_consumer_lag(const struct kafka_consumer *c);

#define KAFKA_CONSUMER_LAG_UNKNOWN (-1)

/*
 * The same of one partition. KAFKA_CONSUMER_LAG_UNKNOWN: it is not read, or no broker has told its end yet, or a broker
 * is silent, so that the end may have moved. 0 thus means that all there was a moment ago has been polled.
 */
int64_t kafka_consumer_partition_lag(const struct kafka_consumer *c, int32_t partition);

/* Tells Kafka how far partition is done, for lag monitors only. Best effort. */
void kafka_consumer_report_progress(struct kafka_consumer *c, int32_t partition, int64_t next_offset);

/* Leaves the group (revoked is told) and frees. */
void kafka_consumer_free(struct kafka_consumer *c);

/*
 * As kafka_producer_is_reachable; told while kafka_consumer_poll is called. Also false while the brokers do not let our
 * user into the group, or see the topic (logged). Safe from any thread.
 */
bool kafka_consumer_is_reachable(void *c);

#endif
