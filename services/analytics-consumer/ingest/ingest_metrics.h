/*
 * Safe from any thread after ingest_metrics_register, except for the gauges: each gauge belongs to
 * one thread. The consumer's metrics about counting. All workers of a process add to the same
 * metrics.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_INGEST_INGEST_METRICS_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_INGEST_INGEST_METRICS_H

#include "lib/base/metrics.h"

/* A gauge that shows the sum over all workers; part is the contribution of this one. */
struct ingest_gauge {
	struct metric *sum;
	int64_t part;
};

struct ingest_metrics {
	struct metric *events_read;
	struct metric *humans;
	struct metric *bots;
	struct metric *duplicates;
	struct metric *poisoned;
	struct metric *batches;
	struct metric *batch_seconds;
	struct metric *batch_events;
	struct metric *delay_seconds;
	struct metric *batches_fenced;
	struct metric *batches_retried;
	struct ingest_gauge partitions;
	struct ingest_gauge halted;
};

/* metrics may be NULL: then nothing is recorded. */
void ingest_metrics_register(struct ingest_metrics *out, struct metrics *metrics);

/* Sets this worker's part of a gauge. */
void ingest_metrics_set(struct ingest_gauge *gauge, int64_t part);

#endif
