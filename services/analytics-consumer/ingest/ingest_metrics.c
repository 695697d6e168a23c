#include "services/analytics-consumer/ingest/ingest_metrics.h"

#include "lib/base/array.h"

/* In seconds. The target is to count a click within 60 s. */
static const double delay_bounds[] = {
	0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 86400
};
static const double batch_bounds[] = { 1,    10,    100,   500,   1000,  2500,
	                               5000, 10000, 25000, 50000, 100000 };
void ingest_metrics_register(struct ingest_metrics *out, struct metrics *metrics)
{
	*out = (struct ingest_metrics){ 0 };
	if (!metrics)
		return;
	out->events_read = metrics_counter(metrics, "waymark_events_read_total",
	                                   "Clicks read from waymark.redirects.v1", NULL);
	out->humans = metrics_counter(metrics, "waymark_visits_counted_total", "Visits counted",
	                              "kind=\"human\"");
	out->bots = metrics_counter(metrics, "waymark_visits_counted_total", "Visits counted",
	                            "kind=\"bot\"");
	out->duplicates =
		metrics_counter(metrics, "waymark_events_duplicate_total",
	                        "Events dropped because their event_id was already counted", NULL);
	out->poisoned = metrics_counter(
		metrics, "waymark_events_poisoned_total",
		"Events, or whole records, that are not valid, sent to the dead-letter topic",
		NULL);
	out->batches = metrics_counter(metrics, "waymark_batches_total", "Batches stored", NULL);
	out->batch_seconds = metrics_histogram(metrics, "waymark_batch_seconds",
	                                       "Time to store a batch, including retries", NULL,
	                                       metrics_latency_bounds, metrics_latency_bound_count);
	out->batch_events =
		metrics_histogram(metrics, "waymark_batch_events", "Clicks in a stored batch", NULL,
	                          batch_bounds, ARRAY_SIZE(batch_bounds));
	out->delay_seconds = metrics_histogram(metrics, "waymark_count_delay_seconds",
	                                       "Delay from a click to the commit that counts it",
	                                       NULL, delay_bounds, ARRAY_SIZE(delay_bounds));
	out->batches_fenced = metrics_counter(
		metrics, "waymark_batches_fenced_total",
		"Batches discarded because another owner had advanced a partition", NULL);
	out->batches_retried =
		metrics_counter(metrics, "waymark_batches_retried_total",
	                        "Failed attempts to store a batch that were retried", NULL);
	out->partitions.sum = metrics_gauge(metrics, "waymark_partitions_assigned",
	                                    "Partitions assigned to this process", NULL);
	out->halted.sum = metrics_gauge(
		metrics, "waymark_partitions_halted",
		"Assigned partitions that are halted: the next record is missing or the topic was recreated",
		NULL);
}

void ingest_metrics_set(struct ingest_gauge *gauge, int64_t part)
{
	metrics_add(gauge->sum, part - gauge->part);
	gauge->part = part;
}
