/*
 * One thread at a time per connection. Totals per link and for the platform: the table link_statistics, and the
 * progress of counting in consumer_offsets. Written by the analytics-consumer, read by links-api.
 */
#ifndef WAYMARK_LIB_CLICKS_STATISTICS_STORE_H
#define WAYMARK_LIB_CLICKS_STATISTICS_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/clicks/welford.h"
#include "lib/net/pg_conn.h"

/* The row that counts all links together. */
#define STATISTICS_STORE_PLATFORM INT64_C(0)

struct statistics {
	int64_t link_id;
	int64_t visit_count; /* humans */
	int64_t bot_count;
	int64_t unique_visitors;
	int64_t last_visited_at_us; /* 0 = never */
	struct welford latency_ms;
};

/*
 * Adds each delta to its link's row (counts add, latencies merge, last visit takes the later); one statement; rows in
 * the order of link_id, so that writers never deadlock: deltas must be sorted, each link once (else ERR_INTERNAL).
 */
enum err statistics_store_add(struct pg_conn *conn, const struct statistics *deltas, size_t count) MUST_CHECK;

/* Zeroes for a link without a row. */
enum err statistics_store_get(struct pg_conn *conn, int64_t link_id, struct statistics *out) MUST_CHECK;

/* For each of ids, in their order. */
enum err statistics_store_get_many(struct pg_conn *conn, const int64_t *ids, size_t count,
                                   struct statistics *out) MUST_CHECK;

/*
 * Up to when every click that had reached Kafka by then has been counted: the oldest as_of of all partitions of the
 * redirects (consumer_offsets), 0 while it is not known of one of them. A partition has a row from when a consumer first
 * gets it; its as_of is the time of the newest click counted from it, or, where the consumer found the end of the
 * partition and wrote it down, a second before that look. So the answer is a lower bound, as true as the clocks of
 * redirectors and consumers agree; a partition that nobody looks at holds it back.
 */
enum err statistics_store_as_of(struct pg_conn *conn, int64_t *as_of_us) MUST_CHECK;

#endif
