/*
 * One thread at a time. Adds a batch of visits up by link, hour, dimension and value: what it changes in
 * visit_rollup_hour.
 */
#ifndef WAYMARK_SERVICES_ANALYTICS_CONSUMER_ROLLUP_H
#define WAYMARK_SERVICES_ANALYTICS_CONSUMER_ROLLUP_H

#include <stddef.h>
#include <stdint.h>

#include "services/analytics-consumer/visit.h"

enum rollup_dimension {
	ROLLUP_TOTAL,
	ROLLUP_COUNTRY,
	ROLLUP_REFERRER,
	ROLLUP_BROWSER,
	ROLLUP_OS,
	ROLLUP_DEVICE,
	ROLLUP_DIMENSIONS,
};

struct rollup_row {
	int64_t link_id;
	int64_t bucket_us; /* start of the hour */
	enum rollup_dimension dimension;
	const char *value; /* borrowed from a visit; "" for the total, and for what is not known */
	int64_t humans;
	int64_t bots;
};

struct rollup;

struct rollup *rollup_new(size_t visits_max);
void rollup_free(struct rollup *rollup);

/* As stored: "total", "country". */
const char *rollup_dimension_name(enum rollup_dimension dimension);

/*
 * Of the new visits; each key once, in the order of (link_id, dimension, bucket, value), the same in all processes.
 * Borrowed until the next call, and no longer than visits.
 */
const struct rollup_row *rollup_sum(struct rollup *rollup, const struct visit *visits, size_t count, size_t *rows);

#endif
