/*
 * Total visit counts per link and for the whole platform: the table link_statistics. Also the
 * progress of counting, from consumer_offsets. Written by the analytics-consumer, read by
 * links-api.
 *
 * One thread at a time per connection.
 */
#ifndef WAYMARK_LIB_CLICKS_STATISTICS_STORE_H
#define WAYMARK_LIB_CLICKS_STATISTICS_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/postgres/pg_conn.h"

/* The row with the sums over all links. */
#define STATISTICS_STORE_PLATFORM INT64_C(0)

/*
 * Count, mean and sum of squared deviations of latencies in one pass (Welford 1962).
 * statistics_store_add merges two of them in SQL.
 */
struct welford {
	int64_t n;
	double mean;
	double m2;
};

/* Pure. */
void statistics_store_welford_add(struct welford *w, double value);
/* Sample standard deviation; 0 for fewer than two values. Pure. */
double statistics_store_welford_stddev(const struct welford *w);

struct statistics {
	int64_t link_id;
	/* Humans. */
	int64_t visit_count;
	int64_t bot_count;
	int64_t unique_visitors;
	/* 0 = never. */
	int64_t last_visited_at_us;
	struct welford latency_ms;
};

/*
 * Adds each delta to the row of its link: counts add up, latencies merge, the later last visit
 * wins. One statement, which locks rows in the order of link_id, so that writers never deadlock.
 * deltas must be sorted by link_id without duplicates, else ERR_INTERNAL.
 */
enum err statistics_store_add(struct pg_conn *conn, const struct statistics *deltas,
                              size_t count) MUST_CHECK;

/* Zeros for a link without a row. */
enum err statistics_store_get(struct pg_conn *conn, int64_t link_id,
                              struct statistics *out) MUST_CHECK;

/*
 * The time up to which every click that had reached Kafka has been counted: the oldest as_of of all
 * partitions of the redirects topic (consumer_offsets), or 0 while a partition has none.
 *
 * A partition gets a row when a consumer is first assigned to it. Its as_of is the time of the
 * newest counted click. If the consumer found the end of the partition and recorded that, it is one
 * second before that check instead. So the result is a lower bound, as accurate as the clocks of
 * redirectors and consumers. A partition without a consumer holds it back.
 */
enum err statistics_store_as_of(struct pg_conn *conn, int64_t *as_of_us) MUST_CHECK;

#endif
