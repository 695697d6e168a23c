/*
 * One thread at a time. Adds a batch of visits up to what it changes in visit_rollup_quarter and _hour, and, of days that
 * are finished, in visit_rollup_day and visit_total_day.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_ROLLUP_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_ROLLUP_H

#include <stddef.h>
#include <stdint.h>

#include "services/analytics-consumer/visit.h"

/* The numbers are the places of the names in the type visit_dimension. */
enum rollup_dimension {
	ROLLUP_TOTAL, /* of quarters only */
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
	const char *value; /* borrowed from a visit; "" for the total, never otherwise: what is not known has no row */
	enum rollup_dimension dimension;
	int32_t humans;
	int32_t bots;
	int32_t uniques; /* visits that are unique (unique_visitors.h) */
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

/* As stored: "country", "utm_source"; "total" for ROLLUP_TOTAL. */
const char *rollup_dimension_name(enum rollup_dimension dimension);

/*
 * Of the new visits; each key once, in the order of (link_id, dimension, bucket, value), the same in all processes.
 * Borrowed until the next call, and no longer than visits.
 */
struct rollup_sums rollup_sum(struct rollup *rollup, const struct visit *visits, size_t count);

/* The same visits by UTC days, as far as those are not behind last_day; in the same order, borrowed for as long. */
struct rollup_days rollup_sum_days(struct rollup *rollup, int32_t last_day);

#endif
