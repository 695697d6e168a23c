/*
 * One thread at a time. For tests: a consumer without topics that considers itself the owner of the
 * partitions 0 and 1. It has a batch, offsets and a store.
 */
#ifndef WAYMARK_TESTS_INTEGRATION_ANALYTICS_CONSUMER_PARTITION_OWNER_H
#define WAYMARK_TESTS_INTEGRATION_ANALYTICS_CONSUMER_PARTITION_OWNER_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/clicks/redirect_event.h"
#include "services/analytics-consumer/storage/batch.h"
#include "services/analytics-consumer/storage/offsets.h"
#include "services/analytics-consumer/storage/visit_store.h"
#include "tests/integration/analytics-consumer/consumer_fixture.h"

struct partition_owner {
	struct consumer_fixture *fixture;
	struct visit_store *store;
	struct batch batch;
	struct offsets offsets;
	/* The last one added. */
	struct batch_record record;
	struct strbuf encoded;
};

/* stored: the record at which both partitions start; 0 = never counted. */
void partition_owner_open(struct partition_owner *owner, struct consumer_fixture *fixture,
                          int64_t stored);
void partition_owner_close(struct partition_owner *owner);

/*
 * Adds a record with one click to the batch, or count records with one click each on seven links at
 * consecutive offsets.
 */
void partition_owner_add(struct partition_owner *owner, int32_t partition, int64_t offset,
                         const struct redirect_event *click);
void partition_owner_add_clicks(struct partition_owner *owner, int32_t partition,
                                int64_t first_offset, int count);

/* Adds one record with count clicks, as far as the batch has room, and continues it. */
void partition_owner_add_record(struct partition_owner *owner, int32_t partition, int64_t offset,
                                const struct redirect_event *clicks, size_t count);
void partition_owner_continue(struct partition_owner *owner);

/* As after a crash: visits of partition 0 from this event on are to be published again. */
void partition_owner_publish_from(struct partition_owner *owner, int64_t offset, int64_t index);

/* The result of visit_store_add for the batch. */
enum err partition_owner_store(struct partition_owner *owner);
/* Begins the next batch after one was stored. */
void partition_owner_begin_batch(struct partition_owner *owner);

#endif
