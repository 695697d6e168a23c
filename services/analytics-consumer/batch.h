/*
 * One thread at a time. The clicks that are stored together: at most visits_max records, decoded, checked and enriched
 * one by one as they are polled. Memory is taken once; what does not decode goes to the batch's dead letters.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_BATCH_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/net/kafka_consumer.h"
#include "services/analytics-consumer/dead_letter.h"
#include "services/analytics-consumer/enrich.h"
#include "services/analytics-consumer/progress.h"

struct batch {
	size_t visits_max;
	size_t records; /* polled into it, poison included */
	size_t count;
	struct visit *visits; /* in the order of arrival */
	struct dead_letter_list *dead_letters;
	bool in_doubt; /* a COMMIT of it had no answer: it may be stored */
};

/* topic and dead_letter_topic are borrowed. */
void batch_init(struct batch *batch, size_t visits_max, const char *topic, const char *dead_letter_topic);
void batch_clear(struct batch *batch);
/* Empties it. */
void batch_reset(struct batch *batch);

/*
 * Takes message in and moves partition's reach over it. now_us: a click from the future does not make the partition
 * counted up to the future.
 */
void batch_add(struct batch *batch, const struct enrich_sources *sources, const struct kafka_message *message,
               struct progress_partition *partition, int64_t now_us);

bool batch_is_empty(const struct batch *batch);
bool batch_is_full(const struct batch *batch);

struct batch_sums {
	int64_t humans;
	int64_t bots;
	int64_t repeats;
	int64_t poisoned;
};

/* What storing it has counted. */
struct batch_sums batch_sum(const struct batch *batch);

#endif
