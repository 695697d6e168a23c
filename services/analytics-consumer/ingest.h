/*
 * Click path 5/9. The loop that counts: gather a batch, have it stored and told to integrations (storing.h) while the
 * next one is gathered, again. Threads of its own; start and stop by one thread, the rest is safe from any thread.
 *
 * What holds, whatever is killed, frozen or cut:
 *   - Offsets live in PostgreSQL and move in the transaction that counts (visit_store.h). Kafka's group only says who
 *     should work on what; who is wrong about it is fenced.
 *   - A batch that cannot be stored is kept and tried again with growing pauses. When the next one is full nothing is
 *     polled any more, so memory stays bounded: two batches, and what librdkafka reads ahead.
 *   - A batch that is fenced, or whose partitions are taken away, is thrown away whole, with the one gathered behind it,
 *     and read again by the next owner. Partitions are given back only after the try in hand has ended.
 *   - Visits are published after the commit, and the next commit waits for them (visit_publisher.h).
 *   - A partition whose next offset does not exist, or before which another record stands than the one that was counted
 *     (retention was faster, or the topic was made anew), stands still: error log, waymark_partitions_stranded, not
 *     ready, whoever gets it. An operator calls consumer_offsets_resume and restarts.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_INGEST_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_INGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/metrics.h"
#include "lib/net/kafka_config.h"
#include "lib/net/pg_pool.h"
#include "services/analytics-consumer/enrich.h"

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
	int64_t batch_ms; /* a batch waits no longer for more clicks after its first */
	struct pg_pool *pool;
	struct enrich_sources sources;
	const struct clock *clock;
	const struct log *log;
	struct metrics *metrics; /* may be NULL */
};

/* Works without any server. ERR_INVALID: librdkafka refuses the configuration (logged). */
enum err ingest_start(const struct ingest_config *config, struct ingest **out) MUST_CHECK;

/* Asks the loop to end, and does not wait for it; ingest_stop has to follow. NULL is allowed. */
void ingest_end(struct ingest *ingest);

/*
 * Ends the loop: the batch in hand is tried once more or thrown away, the partitions go back to the group. NULL is
 * allowed.
 */
void ingest_stop(struct ingest *ingest);

/* For /readyz; ctx is the ingest. */
bool ingest_kafka_is_reachable(void *ctx);
bool ingest_has_no_stranded_partition(void *ctx);
/* False while PostgreSQL refuses a batch for a reason that will not pass by itself. */
bool ingest_is_storing(void *ctx);
/* False while Kafka does not take dead letters: their batch waits for them. */
bool ingest_keeps_dead_letters(void *ctx);

#endif
