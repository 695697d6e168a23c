/*
 * Splits a time range into the stored pieces that make it up: whole days, whole hours,
 * quarters of an hour for totals, and single visits of the log at the edges. Times are in
 * microseconds since 1970-01-01T00:00:00Z; ends are exclusive. Pure.
 */
#ifndef WAYMARK_SERVICES_LINKS_API_STATISTICS_STATISTICS_RANGE_H
#define WAYMARK_SERVICES_LINKS_API_STATISTICS_STATISTICS_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STATISTICS_RANGE_QUARTER_US INT64_C(900000000)
#define STATISTICS_RANGE_PIECES_MAX 8

struct statistics_span {
	/* from_us >= to_us: empty. */
	int64_t from_us, to_us;
};

/* How far the stored data reach. */
struct statistics_reach {
	/* visit_log has everything from here on; 0: it is complete. */
	int64_t log_since_us;
	/* So have roll-ups by hour; a midnight (UTC). */
	int64_t hours_since_us;
};

enum statistics_unit {
	STATISTICS_VALUES, /* of a dimension: hours and days have them */
	STATISTICS_TOTALS, /* of each link: few quarters, because SQL takes their lists apart */
	STATISTICS_SERIES, /* points that may begin at any quarter of an hour */
};

enum statistics_source {
	STATISTICS_LOG,
	STATISTICS_QUARTERS, /* which the rows of days have */
	STATISTICS_HOURS,    /* whole ones */
	STATISTICS_DAYS,
};

struct statistics_piece {
	enum statistics_source source;
	/* Not empty. */
	struct statistics_span span;
};

/* In the order of time, without gaps. */
struct statistics_pieces {
	struct statistics_piece of[STATISTICS_RANGE_PIECES_MAX];
	size_t count;
};

bool statistics_range_is_empty(const struct statistics_span *span);

/*
 * The range that can be counted. Before log_since_us only roll-ups exist, so an end before it moves
 * down: to a quarter of an hour for totals, and to the hour (before hours_since_us, the day) for
 * values. Adjacent ranges stay adjacent.
 */
struct statistics_span statistics_range_countable(struct statistics_span span,
                                                  enum statistics_unit unit,
                                                  const struct statistics_reach *reach);

/* span is countable. No piece of the log begins before log_since_us. */
struct statistics_pieces statistics_range_split(struct statistics_span span,
                                                enum statistics_unit unit,
                                                const struct statistics_reach *reach);

#endif
