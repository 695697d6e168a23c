/*
 * Safe from any thread after ingest_metrics_register. What the consumer shows of its counting on /metrics.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_INGEST_METRICS_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_INGEST_METRICS_H

#include "lib/base/metrics.h"

struct ingest_metrics {
	struct metric *events_read;
	struct metric *humans;
	struct metric *bots;
	struct metric *repeats;
	struct metric *poisoned;
	struct metric *batches;
	struct metric *batch_seconds;
	struct metric *batches_fenced;
	struct metric *batches_retried;
	struct metric *visits_published;
	struct metric *lag;
	struct metric *last_counted;
	struct metric *partitions;
	struct metric *stranded;
};

/* metrics NULL: everything is counted nowhere. */
void ingest_metrics_register(struct ingest_metrics *out, struct metrics *metrics);

#endif
