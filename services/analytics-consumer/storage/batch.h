/*
 * One thread at a time. The clicks that are stored in one transaction: at most visits_max. Each is
 * decoded, validated and enriched as its record is polled. A record that is no RedirectBatch, and an
 * event that is not a valid click, becomes a dead letter. Memory is allocated once, by batch_init.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_STORAGE_BATCH_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_STORAGE_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/clicks/redirect_batch.h"
#include "lib/kafka/kafka_consumer.h"
#include "services/analytics-consumer/facts/enrich.h"
#include "services/analytics-consumer/publish/publish.h"
#include "services/analytics-consumer/storage/offsets.h"
#include "services/analytics-consumer/storage/visit_order.h"

struct batch {
	size_t visits_max;
	/* Added so far, those that became dead letters included. */
	size_t events;
	size_t count;
	/* In order of arrival. */
	struct visit *visits;
	/* Those that count, as the store inserts them; made by batch_sort. */
	struct visit_order order;
	struct dead_letter_list *dead_letters;
	/* Of visit_store_add: what the tags of the visits are borrowed from. */
	struct pg_result *link_rows;
	/* A COMMIT was sent and not answered: the batch may be stored. */
	bool in_doubt;
};

/* A record of which a batch took some events. The next batches take the rest. */
struct batch_record {
	/* Borrowed from the consumer until its next poll. */
	struct kafka_message message;
	struct redirect_batch events;
	/* Of the next event. */
	int64_t index;
	/* It has events that no batch took. */
	bool is_open;
};

/* topic and dead_letter_topic are borrowed. */
void batch_init(struct batch *batch, size_t visits_max, const char *topic,
                const char *dead_letter_topic);
void batch_clear(struct batch *batch);
/* Empties the batch and keeps its memory. */
void batch_reset(struct batch *batch);

/* Begins to read message. Of a record that is no RedirectBatch, a dead letter is all there is. */
void batch_open(struct batch *batch, const struct kafka_message *message,
                struct offsets_partition *partition, struct batch_record *record);
/*
 * Adds the next events of an open record, until the batch is full or none is left, and extends
 * the offsets of partition over them. Skips those whose visits are published. now_us caps
 * partition->as_of_us, so that a click dated in the future does not make the counts look newer than
 * they are.
 */
void batch_add(struct batch *batch, struct enrich *enrich, struct batch_record *record,
               struct offsets_partition *partition, int64_t now_us);

bool batch_is_empty(const struct batch *batch);
bool batch_is_full(const struct batch *batch);

/* Ends the batch: call it before visit_store_add. */
void batch_sort(struct batch *batch);

struct batch_sums {
	int64_t humans;
	int64_t bots;
	int64_t duplicates;
	int64_t poisoned;
};

/* What was counted when the batch was stored. */
struct batch_sums batch_sum(const struct batch *batch);

#endif
