/*
 * One thread at a time. Measures once a second how many records of a topic a consumer group has not
 * processed yet: for each partition its end minus the offset that the group has committed, or its
 * whole length if there is none. Asks the brokers, so the number is right although a member has
 * read records that it cannot store, and although no member owns a partition.
 */
#ifndef WAYMARK_LIB_KAFKA_KAFKA_LAG_H
#define WAYMARK_LIB_KAFKA_KAFKA_LAG_H

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
	/* Keeps its value while no broker responds. */
	struct metric *gauge;
	const struct log *log;
};

/* Needs no reachable brokers. ERR_INVALID: librdkafka rejects the configuration (logged). */
enum err kafka_lag_start(const struct kafka_lag_config *config, struct kafka_lag **out) MUST_CHECK;
/* Takes at most REQUEST_TIMEOUT_MS, a second. lag may be NULL. */
void kafka_lag_stop(struct kafka_lag *lag);

#endif
