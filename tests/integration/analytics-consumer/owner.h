/*
 * One thread at a time. For tests: a consumer without topics that considers itself the owner of the
 * partitions 0 and 1. It has a batch, offsets and a store.
 */
#ifndef WAYMARK_TESTS_INTEGRATION_ANALYTICS_CONSUMER_OWNER_H
#define WAYMARK_TESTS_INTEGRATION_ANALYTICS_CONSUMER_OWNER_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/clicks/redirect_event.h"
#include "services/analytics-consumer/storage/batch.h"
#include "services/analytics-consumer/storage/offsets.h"
#include "services/analytics-consumer/storage/visit_store.h"
#include "tests/integration/analytics-consumer/world.h"

struct owner {
	struct world *fixture;
	struct visit_store *store;
	struct batch batch;
	struct offsets offsets;
	struct strbuf encoded;
};

/* stored: the offset at which both partitions start; 0 = never counted. */
void owner_open(struct owner *owner, struct world *fixture, int64_t stored);
void owner_close(struct owner *owner);

/* Adds one click to the batch, or count clicks on seven links at consecutive offsets. */
void owner_take(struct owner *owner, int32_t partition, int64_t offset, const struct redirect_event *click);
void owner_take_clicks(struct owner *owner, int32_t partition, int64_t first_offset, int count);

/* The result of visit_store_add for the batch. */
enum err owner_store(struct owner *owner);
/* Begins the next batch after one was stored. */
void owner_go_on(struct owner *owner);

#endif
