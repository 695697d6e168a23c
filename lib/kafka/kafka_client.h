/*
 * Safe from any thread. What all librdkafka instances share: the settings that reach the
 * brokers, librdkafka's log lines (forwarded to our log), and whether a broker is connected.
 */
#ifndef WAYMARK_LIB_KAFKA_KAFKA_CLIENT_H
#define WAYMARK_LIB_KAFKA_KAFKA_CLIENT_H

#include <librdkafka/rdkafka.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/kafka/kafka_config.h"

/* librdkafka's opaque pointer points at this struct. It is the first member of its owner. */
struct kafka_client {
	const struct log *log;
	/* A broker is connected and responds; updated once a second. */
	_Atomic bool reachable;
	/* A response is overdue for 1.5 s, so offsets may be old; likewise. */
	_Atomic bool overdue;
	/* May be NULL. */
	struct metric *reachable_gauge;
	/* No broker is reachable, and that is logged. */
	_Atomic bool outage_logged;
	/* Librdkafka's code of the login failure logged last. */
	_Atomic int login_error_logged;
	/* Librdkafka's last error of a connection; the poll's thread. */
	char last_error[256];
	/* Called in the owner's poll after an error that ends this instance. May be NULL. */
	void (*on_fatal)(struct kafka_client *client);
};

struct kafka_setting {
	const char *name;
	const char *value;
};

/* Creates a librdkafka configuration for the caller. ERR_INVALID: it rejects a value (logged). */
enum err kafka_client_configure(struct kafka_client *client, const struct kafka_config *config,
                                const struct kafka_setting *settings, size_t count,
                                rd_kafka_conf_t **out) MUST_CHECK;

/* Takes conf. NULL: librdkafka rejects the configuration (logged). */
rd_kafka_t *kafka_client_open(struct kafka_client *client, rd_kafka_type_t type,
                              rd_kafka_conf_t *conf);

/* Marks the brokers as reachable at once. Call it after a broker has responded. */
void kafka_client_set_reachable(struct kafka_client *client);

/*
 * Whether librdkafka's code means that our user may not use resource (a topic or a group). If so,
 * logs it at most once a minute.
 */
bool kafka_client_is_unauthorized(struct kafka_client *client, int code, const char *resource);

/*
 * Queries the number of partitions of a topic; waits at most timeout_ms. Returns librdkafka's code:
 * count is set only with NO_ERROR.
 */
rd_kafka_resp_err_t kafka_client_count_partitions(struct kafka_client *client, rd_kafka_t *rk,
                                                  rd_kafka_topic_t *topic, int64_t timeout_ms,
                                                  int32_t *count) MUST_CHECK;

/*
 * Queries offsets of the partitions 0 to count - 1. wanted: RD_KAFKA_OFFSET_END, after the last
 * record, or RD_KAFKA_OFFSET_BEGINNING, of the first record, or the end where none is. Waits at
 * most timeout_ms. ERR_UNAVAILABLE: not all are known.
 */
enum err kafka_client_query_offsets(rd_kafka_t *rk, const char *topic, int32_t count,
                                    int64_t wanted, int64_t timeout_ms,
                                    int64_t *offsets) MUST_CHECK;

#endif
