/*
 * Safe from any thread after ingest_metrics_register, but for the gauges: one thread each. What the consumer shows of
 * its counting on /metrics. Several ingests of one process show one sum.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_INGEST_METRICS_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_INGEST_METRICS_H

#include "lib/base/metrics.h"

/* This ingest's part of a sum. */
struct ingest_gauge {
	struct metric *sum;
	int64_t part;
};

struct ingest_metrics {
	struct metric *events_read;
	struct metric *humans;
	struct metric *bots;
	struct metric *repeats;
	struct metric *poisoned;
	struct metric *batches;
	struct metric *batch_seconds;
	struct metric *batch_events;
	struct metric *delay_seconds;
	struct metric *batches_fenced;
	struct metric *batches_retried;
	struct metric *visits_published;
	struct metric *last_counted;
	struct ingest_gauge lag;
	struct ingest_gauge partitions;
	struct ingest_gauge stranded;
};

/* metrics NULL: everything is counted nowhere. */
void ingest_metrics_register(struct ingest_metrics *out, struct metrics *metrics);

void ingest_metrics_set(struct ingest_gauge *gauge, int64_t part);

#endif
