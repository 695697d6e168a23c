/*
 * One thread at a time to start and stop; the rest is safe from any thread. Several ingests side by side in one
 * process, each a member of the group with partitions, a connection, a batch and user agents of its own: while one
 * of them waits for PostgreSQL, another decodes. They share nothing but the pool, the metrics and the database of places,
 * so all that holds for consumers in different processes holds for them.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_LANES_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_LANES_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"
#include "services/analytics-consumer/fact_sources.h"
#include "services/analytics-consumer/ingest.h"

#define LANES_MAX 16

struct lanes;

/* Borrowed. */
struct lanes_config {
	size_t count;                     /* at most LANES_MAX; the pool has a connection for each */
	struct ingest_config ingest;      /* of each; sources are set here */
	struct fact_sources_config facts; /* of each; what they remember is shared out among them */
};

/* ERR_INVALID, ERR_NOT_FOUND: as ingest_start and fact_sources_open (logged). */
enum err lanes_start(const struct lanes_config *config, struct lanes **out) MUST_CHECK;
/* As ingest_stop, all at the same time. NULL is allowed. */
void lanes_stop(struct lanes *lanes);

/* For /readyz; ctx is the lanes. True when it holds for all of them. */
bool lanes_reach_kafka(void *ctx);
bool lanes_have_no_stranded_partition(void *ctx);
bool lanes_are_storing(void *ctx);
bool lanes_keep_dead_letters(void *ctx);

#endif
