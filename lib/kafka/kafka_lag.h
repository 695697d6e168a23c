/*
 * One thread at a time. Measures once a second how many events of a topic a consumer group has not
 * processed yet: in each partition those after the offset that the group has committed, or all if
 * there is none. Asks the brokers, so the number is right although a member has read records that it
 * cannot store, and although no member owns a partition.
 *
 * A record holds many events, and Kafka knows only records. So some of those that wait are read, at
 * most READS_MAX times a second and about READ_BYTES of a partition each time, and the others are
 * estimated (kafka_backlog.h). A short backlog is exact, a long one right within a few percent, at
 * first after some seconds. The first record that waits counts in full, although some of its events
 * may be processed. Without a broker the gauge keeps its value.
 */
#ifndef WAYMARK_LIB_KAFKA_KAFKA_LAG_H
#define WAYMARK_LIB_KAFKA_KAFKA_LAG_H

#include <stddef.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/kafka/kafka_config.h"

struct kafka_lag;

/* Borrowed until kafka_lag_stop. */
struct kafka_lag_config {
	const struct kafka_config *kafka;
	const char *group;
	const char *topic;
	/* The events of a record's value, at least 1. value may be NULL. */
	size_t (*count)(const void *value, size_t len);
	/* Keeps its value while no broker responds. */
	struct metric *gauge;
	const struct log *log;
};

/* Needs no reachable brokers. ERR_INVALID: librdkafka rejects the configuration (logged). */
enum err kafka_lag_start(const struct kafka_lag_config *config, struct kafka_lag **out) MUST_CHECK;
/* Takes at most REQUEST_TIMEOUT_MS, a second. lag may be NULL. */
void kafka_lag_stop(struct kafka_lag *lag);

#endif
