/*
 * One thread at a time to start and stop; the other functions are safe from any thread. Runs
 * several ingest loops in one process. While one worker waits for PostgreSQL, another one decodes.
 *
 * Each worker is a member of the Kafka group with its own partitions, connection, batch and
 * user-agent cache. Workers share only the pool, the metrics and the GeoIP database. What holds for
 * consumers in different processes therefore holds for the workers of one process.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_INGEST_WORKERS_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_INGEST_WORKERS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/err.h"
#include "lib/visitors/visitor_facts.h"
#include "services/analytics-consumer/ingest/ingest.h"

#define WORKERS_MAX 16

struct workers;

/* Borrowed. */
struct workers_config {
	/* At most WORKERS_MAX; the pool needs a connection for each. */
	size_t count;
	/* Of each worker; workers_start sets its enrich. */
	struct ingest_config ingest;
	/* Of each worker; the capacity of the cache is divided among them. */
	struct visitor_facts_config facts;
};

/* As ingest_start and visitor_facts_open (logged). ERR_INVALID also: too many workers. */
enum err workers_start(const struct workers_config *config, struct workers **out) MUST_CHECK;
/* Stops all workers at the same time, each as ingest_stop does. workers may be NULL. */
void workers_stop(struct workers *workers);

/* For /readyz; ctx is the workers. True when it holds for every worker. */
bool workers_reach_kafka(void *ctx);
bool workers_have_no_halted_partition(void *ctx);
bool workers_can_store(void *ctx);
bool workers_can_send_dead_letters(void *ctx);

#endif
