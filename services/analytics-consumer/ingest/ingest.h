/*
 * Threads of its own; one thread starts and stops it, the other functions are safe from any thread.
 * The loop that counts clicks: it gathers a batch from Kafka, and a batch writer (batch_writer.h)
 * stores and publishes that batch while the loop gathers the next one.
 *
 * These guarantees hold whichever process is killed, frozen or disconnected:
 *   - Offsets live in PostgreSQL and advance in the transaction that counts (visit_store.h).
 *     Kafka's group only suggests which worker reads which partition. A worker with an outdated
 *     assignment is fenced.
 *   - A batch that cannot be stored is kept and retried with growing pauses. When the next batch is
 *     full, polling stops. Memory stays bounded to two batches and librdkafka's read-ahead.
 *   - A batch that is fenced, or whose partitions are taken away, is discarded whole, together with
 *     the batch gathered after it. The next owner reads both again. Partitions are released only
 *     after the current attempt to store has ended.
 *   - Visits are published after the commit, and the next commit waits until they are acknowledged
 *     (publish.h).
 *   - A partition is halted when its next offset does not exist, or when the record before it is
 *     not the one that was counted. Either retention was faster than the consumer, or the topic was
 *     recreated. A halt is logged as an error, shown by waymark_partitions_halted and by /readyz,
 *     and holds for every later owner. An operator ends it with consumer_offsets_resume and a
 *     restart.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_INGEST_INGEST_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_INGEST_INGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/kafka/kafka_config.h"
#include "lib/postgres/pg_pool.h"

struct enrich;
struct ingest;

/* Everything is borrowed. */
struct ingest_config {
	const struct kafka_config *kafka;
	const char *group;
	const char *topic;
	const char *dead_letter_topic;
	const char *visits_topic;
	int64_t session_timeout_ms;
	size_t batch_events;
	/* The longest time from a batch's first click until it is closed. */
	int64_t batch_ms;
	struct pg_pool *pool;
	/* Of this worker alone. */
	struct enrich *enrich;
	const struct clock *clock;
	const struct log *log;
	/* May be NULL. */
	struct metrics *metrics;
};

/* Needs no running server. ERR_INVALID: librdkafka rejects the configuration (logged). */
enum err ingest_start(const struct ingest_config *config, struct ingest **out) MUST_CHECK;

/* Asks the loop to end and does not wait. Call ingest_stop afterwards. ingest may be NULL. */
void ingest_end(struct ingest *ingest);

/*
 * Ends the loop and waits. A batch in hand gets one more attempt and is discarded if that fails.
 * Then the partitions go back to the group. ingest may be NULL.
 */
void ingest_stop(struct ingest *ingest);

/* For /readyz; ctx is the ingest. */
bool ingest_kafka_is_reachable(void *ctx);
bool ingest_has_no_halted_partition(void *ctx);
/* False while PostgreSQL refuses a batch for a reason that does not pass by itself. */
bool ingest_can_store(void *ctx);
/* False while a batch waits because Kafka does not accept its dead letters. */
bool ingest_can_send_dead_letters(void *ctx);

#endif
