/*
 * Safe from any thread. What producer, consumer and feed have in common: the settings that reach the brokers,
 * librdkafka's own log (whose lines go to ours), and whether a broker is connected. For kafka_producer, kafka_consumer
 * and kafka_feed.
 */
#ifndef WAYMARK_LIB_NET_KAFKA_CLIENT_H
#define WAYMARK_LIB_NET_KAFKA_CLIENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/net/kafka_config.h"

struct rd_kafka_conf_s;
struct rd_kafka_s;
struct rd_kafka_topic_s;

/* Every opaque pointer that librdkafka hands back points at one of these, the first member of its owner. */
struct kafka_client {
	const struct log *log;
	atomic_bool reachable; /* a broker is connected and answers; told once a second */
	atomic_bool silent; /* a connected broker owes an answer for too long: what it told last may be old; likewise */
	struct metric *shows_reachable;   /* a gauge; may be NULL */
	atomic_bool outage;               /* it was there, or was tried, and is not; logged once */
	atomic_int told;                  /* why the brokers do not let us in, librdkafka's code; logged once */
	_Atomic int64_t refusal_again_us; /* steady; when the next missing right is worth a line */
	char trouble[256];                /* the poll's: librdkafka's last words about a connection */
	/* Told, from the owner's poll, of an error that ends this librdkafka instance. May be NULL. */
	void (*fatal)(struct kafka_client *client);
};

struct kafka_setting {
	const char *name;
	const char *value;
};

/* Makes a librdkafka configuration. ERR_INVALID: it refuses a value (logged). */
enum err kafka_client_configure(struct kafka_client *client, const struct kafka_config *config,
                                const struct kafka_setting *settings, size_t count,
                                struct rd_kafka_conf_s **out) MUST_CHECK;

/* A broker has answered: no need to wait for the next second. */
void kafka_client_answered(struct kafka_client *client);

/*
 * code is librdkafka's. If it says that our user has no right to what (a topic, a group), that is logged, at most once a
 * minute, and true is given.
 */
bool kafka_client_is_refused(struct kafka_client *client, int code, const char *what);

/*
 * Asks the brokers how many partitions a topic has; waits at most timeout_ms. ERR_UNAVAILABLE: nobody answered, or
 * there is no such topic yet.
 */
enum err kafka_client_count_partitions(struct kafka_client *client, struct rd_kafka_s *rk,
                                       struct rd_kafka_topic_s *topic, int64_t timeout_ms, int32_t *count) MUST_CHECK;

#endif
