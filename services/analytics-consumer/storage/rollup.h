/*
 * One thread at a time. Aggregates a batch of visits by link, hour, dimension and value: the
 * entries of the rows that rollup_store.h inserts into rollup_delta.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_STORAGE_ROLLUP_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_STORAGE_ROLLUP_H

#include <stddef.h>
#include <stdint.h>

#include "services/analytics-consumer/facts/visit.h"

/* In the order of ROLLUP_TABLE_COLUMNS. */
enum rollup_dimension {
	ROLLUP_QUARTERS, /* totals; the value is the quarter of an hour of the UTC day, "0" to "95" */
	ROLLUP_COUNTRY,
	ROLLUP_CITY,
	ROLLUP_REGION,
	ROLLUP_REFERRER,
	ROLLUP_BROWSER,
	ROLLUP_OS,
	ROLLUP_DEVICE,
	ROLLUP_LANGUAGE,
	ROLLUP_UTM_SOURCE,
	ROLLUP_UTM_MEDIUM,
	ROLLUP_UTM_CAMPAIGN,
	ROLLUP_DIMENSIONS,
};

struct rollup_row {
	int64_t link_id;
	/* 0 = none. All visits of a link in a batch have the same. */
	int64_t owner_id;
	/* Its start. */
	int64_t hour_us;
	/* Borrowed; never "", because unknown values have no row. */
	const char *value;
	enum rollup_dimension dimension;
	int32_t humans;
	int32_t bots;
	/* Unique visits (unique_visitors.h). */
	int32_t uniques;
};

struct rollup_rows {
	const struct rollup_row *rows;
	size_t count;
};

struct rollup;

struct rollup *rollup_new(size_t visits_max);
void rollup_free(struct rollup *rollup);

/*
 * Aggregates the new visits. Each key occurs once, in the order of (link_id, hour, dimension). Of a
 * dimension with more values than ROLLUP_LIST_VALUES_MAX, those that count most are kept, and
 * "(other)" follows as one more. The result is borrowed until the next call, and no longer than
 * visits.
 */
struct rollup_rows rollup_sum(struct rollup *rollup, const struct visit *visits, size_t count);

#endif
