/*
 * One thread at a time; kafka_instance_produce is safe beside kafka_instance_purge. One librdkafka
 * instance of a kafka_producer, which replaces it after an error from which librdkafka cannot
 * recover, and to change the size of batches.
 */
#ifndef WAYMARK_LIB_KAFKA_KAFKA_INSTANCE_H
#define WAYMARK_LIB_KAFKA_KAFKA_INSTANCE_H

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"
#include "lib/kafka/kafka_client.h"
#include "lib/kafka/kafka_producer.h"
#include "lib/kafka/kafka_queue.h"

/* As batch_bytes: every record has a batch of its own. */
#define KAFKA_INSTANCE_ONE_RECORD 1

struct kafka_instance {
	rd_kafka_t *rk;
	rd_kafka_topic_t *topics[KAFKA_PRODUCER_TOPICS_MAX];
	size_t batch_bytes;
};

typedef void (*kafka_instance_report)(rd_kafka_t *rk, const rd_kafka_message_t *message,
                                      void *opaque);

/*
 * client is librdkafka's opaque; kafka and limits are borrowed for the call. A record larger than
 * batch_bytes is sent in a batch of its own. ERR_INVALID: librdkafka rejects the configuration
 * (logged).
 */
enum err kafka_instance_open(struct kafka_client *client, const struct kafka_config *kafka,
                             const struct kafka_producer_config *limits, size_t batch_bytes,
                             kafka_instance_report on_report,
                             struct kafka_instance *out) MUST_CHECK;

/*
 * librdkafka borrows the payload until its report and copies everything else. Returns librdkafka's
 * code; the entry is accepted only with NO_ERROR.
 */
rd_kafka_resp_err_t kafka_instance_produce(const struct kafka_instance *instance,
                                           struct kafka_queue_entry *entry);

/* Whether the entry has its batch for itself, so a rejection of the batch is one of the entry. */
bool kafka_instance_sends_alone(const struct kafka_instance *instance,
                                const struct kafka_queue_entry *entry);

/* The next smaller and larger size of batches; from the smallest on, every record is alone. */
size_t kafka_instance_smaller_batch(const struct kafka_instance *instance);
size_t kafka_instance_larger_batch(const struct kafka_instance *instance);

/* See kafka_producer_query_ends. */
enum err kafka_instance_query_ends(const struct kafka_instance *instance,
                                   struct kafka_client *client, const char *topic,
                                   int64_t timeout_ms, int64_t *ends, int32_t max,
                                   int32_t *partitions) MUST_CHECK;

/* Makes librdkafka report every entry, so that all of them return to their owner. */
void kafka_instance_purge(const struct kafka_instance *instance);

void kafka_instance_close(struct kafka_instance *instance);

#endif
