/*
 * One thread at a time. For tests: one consumer without topics. What it believes to own, which are the partitions 0 and
 * 1, and its batch.
 */
#ifndef WAYMARK_TESTS_INTEGRATION_ANALYTICS_CONSUMER_OWNER_H
#define WAYMARK_TESTS_INTEGRATION_ANALYTICS_CONSUMER_OWNER_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/clicks/redirect_event.h"
#include "services/analytics-consumer/batch.h"
#include "services/analytics-consumer/offsets.h"
#include "services/analytics-consumer/visit_store.h"
#include "tests/integration/analytics-consumer/world.h"

struct owner {
	struct world *world;
	struct visit_store *store;
	struct batch batch;
	struct offsets offsets;
	struct strbuf encoded;
};

/* stored: the offset where both partitions begin, 0: nothing was ever counted. */
void owner_open(struct owner *owner, struct world *world, int64_t stored);
void owner_close(struct owner *owner);

/* Adds to the batch: one click, or clicks on seven links at offsets that follow each other. */
void owner_take(struct owner *owner, int32_t partition, int64_t offset, const struct redirect_event *click);
void owner_take_clicks(struct owner *owner, int32_t partition, int64_t first_offset, int count);

/* What visit_store_add answers for the batch. */
enum err owner_store(struct owner *owner);
/* After a batch was stored. */
void owner_go_on(struct owner *owner);

#endif
