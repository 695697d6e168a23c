/*
 * One thread at a time. Aggregates a batch of visits into the changes of visit_rollup_quarter and
 * visit_rollup_hour. For finished days it also gives the changes of visit_total_day and
 * visit_rollup_day.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_STORAGE_ROLLUP_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_STORAGE_ROLLUP_H

#include <stddef.h>
#include <stdint.h>

#include "services/analytics-consumer/facts/visit.h"

/* In the order of the names in the SQL type visit_dimension. */
enum rollup_dimension {
	ROLLUP_TOTAL, /* only in quarters */
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
	int64_t bucket_us; /* start of the quarter of an hour, the hour or the UTC day */
	const char *value; /* borrowed from a visit; "" only for the total, because unknown values
	                      have no row */
	enum rollup_dimension dimension;
	int32_t humans;
	int32_t bots;
	int32_t uniques; /* unique visits (unique_visitors.h) */
};

struct rollup_rows {
	const struct rollup_row *rows;
	size_t count;
};

struct rollup_sums {
	struct rollup_rows quarters; /* totals */
	struct rollup_rows hours;
};

struct rollup_days {
	struct rollup_rows totals;
	struct rollup_rows values;
};

struct rollup;

struct rollup *rollup_new(size_t visits_max);
void rollup_free(struct rollup *rollup);

/* The name in SQL: "country", "utm_source"; "total" for ROLLUP_TOTAL. */
const char *rollup_dimension_name(enum rollup_dimension dimension);

/*
 * Aggregates the new visits. Each key occurs once, in the order of (link_id, dimension, bucket,
 * value), which is the same in all processes. The result is borrowed until the next call, and no
 * longer than visits.
 */
struct rollup_sums rollup_sum(struct rollup *rollup, const struct visit *visits, size_t count);

/*
 * The visits of the last rollup_sum by UTC day, up to and including last_day. Order and lifetime as
 * there.
 */
struct rollup_days rollup_sum_days(struct rollup *rollup, int32_t last_day);

#endif
