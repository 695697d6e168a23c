#include "services/links-api/statistics/statistics_range.h"

#include <stdlib.h>

#include "lib/base/clock.h"

#define QUARTER STATISTICS_RANGE_QUARTER_US
#define HOUR CLOCK_US_PER_HOUR
#define DAY CLOCK_US_PER_DAY

/* Times are never before 1970: timestamp_parse refuses them. */
static int64_t round_down(int64_t time_us, int64_t bucket_us)
{
	return time_us - time_us % bucket_us;
}

/* The first start of a bucket after time_us. */
static int64_t next_start(int64_t time_us, int64_t bucket_us)
{
	return round_down(time_us, bucket_us) + bucket_us;
}

static int64_t min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

bool statistics_range_is_empty(const struct statistics_span *span)
{
	return span->from_us >= span->to_us;
}

static int64_t countable_end(int64_t time_us, enum statistics_unit unit,
                             const struct statistics_reach *reach)
{
	if (time_us >= reach->log_since_us)
		return time_us;
	if (unit != STATISTICS_VALUES)
		return round_down(time_us, QUARTER);
	return round_down(time_us, time_us < reach->hours_since_us ? DAY : HOUR);
}

struct statistics_span statistics_range_countable(struct statistics_span span,
                                                  enum statistics_unit unit,
                                                  const struct statistics_reach *reach)
{
	return (struct statistics_span){ countable_end(span.from_us, unit, reach),
		                         countable_end(span.to_us, unit, reach) };
}

/* The whole buckets from a start on, up to an end. */
static struct statistics_piece whole(enum statistics_source source, int64_t bucket_us,
                                     struct statistics_span span)
{
	if (span.from_us % bucket_us != 0)
		span.to_us = span.from_us;
	return (struct statistics_piece){ source,
		                          { span.from_us, round_down(span.to_us, bucket_us) } };
}

static struct statistics_piece visits(struct statistics_span span, int64_t bucket_us)
{
	return (struct statistics_piece){ STATISTICS_LOG,
		                          { span.from_us, min(next_start(span.from_us, bucket_us),
		                                              span.to_us) } };
}

/* Hours end where a whole day begins. */
static int64_t end_of_hours(struct statistics_span span)
{
	int64_t day_us = next_start(span.from_us, DAY);
	return day_us + DAY <= span.to_us ? day_us : span.to_us;
}

static struct statistics_piece first_piece(struct statistics_span span, enum statistics_unit unit,
                                           const struct statistics_reach *reach)
{
	bool has_hours = span.from_us >= reach->hours_since_us;
	int64_t larger_us = has_hours ? HOUR : DAY;
	struct statistics_piece piece = { 0 };
	if (unit != STATISTICS_SERIES)
		piece = whole(STATISTICS_DAYS, DAY, span);
	if (unit != STATISTICS_SERIES && has_hours && statistics_range_is_empty(&piece.span))
		piece = whole(STATISTICS_HOURS, HOUR,
		              (struct statistics_span){ span.from_us, end_of_hours(span) });
	if (!statistics_range_is_empty(&piece.span))
		return piece;
	if (unit == STATISTICS_VALUES)
		return visits(span, larger_us);
	/* Points may begin within a day, so a series consists of quarters. */
	struct statistics_span quarters = span;
	if (unit == STATISTICS_TOTALS)
		quarters.to_us = min(span.to_us, next_start(span.from_us, larger_us));
	piece = whole(STATISTICS_QUARTERS, QUARTER, quarters);
	return statistics_range_is_empty(&piece.span) ? visits(span, QUARTER) : piece;
}

static void append(struct statistics_pieces *pieces, const struct statistics_piece *piece)
{
	struct statistics_piece *last = pieces->count > 0 ? &pieces->of[pieces->count - 1] : NULL;
	if (last && last->source == piece->source) {
		last->span.to_us = piece->span.to_us;
		return;
	}
	if (pieces->count == STATISTICS_RANGE_PIECES_MAX)
		abort(); /* no range needs as many */
	pieces->of[pieces->count++] = *piece;
}

struct statistics_pieces statistics_range_split(struct statistics_span span,
                                                enum statistics_unit unit,
                                                const struct statistics_reach *reach)
{
	struct statistics_pieces pieces = { 0 };
	while (!statistics_range_is_empty(&span)) {
		struct statistics_piece piece = first_piece(span, unit, reach);
		append(&pieces, &piece);
		span.from_us = piece.span.to_us;
	}
	return pieces;
}
