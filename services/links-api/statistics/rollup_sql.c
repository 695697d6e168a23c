#include "services/links-api/statistics/rollup_sql.h"

#include <string.h>

#include "lib/base/clock.h"

/* Adds a condition, and one on key, which is "hour" or "day". */
static void add_where(struct visit_sql *sql, const char *condition, const char *key,
                      struct statistics_span span)
{
	bool is_day = strcmp(key, "day") == 0;
	int from = is_day ? visit_sql_day(sql, clock_utc_day(span.from_us))
	                  : visit_sql_time(sql, span.from_us);
	int to = is_day ? visit_sql_day(sql, clock_utc_day(span.to_us))
	                : visit_sql_time(sql, span.to_us);
	const char *type = is_day ? "date" : "timestamptz";
	visit_sql_add(sql, " WHERE %s AND %s >= $%d::%s AND %s < $%d::%s", condition, key, from,
	              type, key, to, type);
}

/* Whether the rows of a source are by day. Besides them, deltas have what is not folded yet. */
static bool is_by_day(enum statistics_source source)
{
	return source == STATISTICS_DAYS || source == STATISTICS_QUARTERS_OF_DAYS;
}

void rollup_sql_add_totals(struct visit_sql *sql, const char *columns,
                           const struct rollup_sql_scope *scope,
                           const struct statistics_piece *piece)
{
	bool is_day = is_by_day(piece->source);
	visit_sql_add(sql, "SELECT %shumans, bots, uniques FROM %s", columns,
	              is_day ? scope->days : scope->hours);
	add_where(sql, scope->rows, is_day ? "day" : "hour", piece->span);
	visit_sql_add(sql, " UNION ALL SELECT %shumans, bots, uniques FROM rollup_delta", columns);
	add_where(sql, scope->deltas, "hour", piece->span);
}

/* --- quarters, taken apart in SQL: at most one day per link --- */

/* Buckets that have a part of the span. */
static struct statistics_span widened(struct statistics_span span, int64_t bucket_us)
{
	span.from_us -= span.from_us % bucket_us;
	span.to_us += (bucket_us - span.to_us % bucket_us) % bucket_us;
	return span;
}

#define COUNT(field) "split_part(entry, E'\\x1f', " field ")::bigint"
#define COUNTS COUNT("1") " AS humans, " COUNT("2") " AS bots, " COUNT("3") " AS uniques"
/* Takes the packed list of a column apart (db/migrations/0007_rollups.sql). */
#define FROM_ENTRIES(list) COUNTS " FROM %s, string_to_table(" list ", E'\\x1e') AS entry"
#define QUARTER "split_part(entry, E'\\x1f', 4)::integer"
#define QUARTER_START(midnight) midnight " + " QUARTER " * interval '15 minutes' AS bucket, "

void rollup_sql_add_quarters(struct visit_sql *sql, const char *columns,
                             const struct rollup_sql_scope *scope,
                             const struct statistics_piece *piece)
{
	static const char by_hour[] =
		"SELECT link_id, " QUARTER_START("date_trunc('day', hour, 'UTC')")
			FROM_ENTRIES("quarters");
	static const char by_day[] =
		"SELECT link_id, " QUARTER_START("day::timestamp AT TIME ZONE 'UTC'")
			FROM_ENTRIES("quarters");
	struct statistics_span hours = widened(piece->span, CLOCK_US_PER_HOUR);
	visit_sql_add(sql, "SELECT %shumans, bots, uniques FROM (", columns);
	if (is_by_day(piece->source)) {
		visit_sql_add(sql, by_day, scope->days);
		add_where(sql, scope->rows, "day", widened(piece->span, CLOCK_US_PER_DAY));
	} else {
		visit_sql_add(sql, by_hour, scope->hours);
		add_where(sql, scope->rows, "hour", hours);
	}
	visit_sql_add(sql, " UNION ALL ");
	visit_sql_add(sql, by_hour, "rollup_delta");
	add_where(sql, scope->deltas, "hour", hours);
	int from = visit_sql_time(sql, piece->span.from_us);
	int to = visit_sql_time(sql, piece->span.to_us);
	visit_sql_add(
		sql, ") AS quarters WHERE bucket >= $%d::timestamptz AND bucket < $%d::timestamptz",
		from, to);
}

/* --- values --- */

void rollup_sql_add_values(struct visit_sql *sql, enum visit_dimension dimension,
                           const struct rollup_sql_scope *scope,
                           const struct statistics_piece *piece)
{
	static const char select[] =
		"SELECT humans::bigint, bots::bigint, uniques::bigint, NULL::text AS value, %s AS list FROM %s";
	const char *list = visit_dimension_name(dimension);
	bool is_day = is_by_day(piece->source);
	visit_sql_add(sql, select, list, is_day ? scope->days : scope->hours);
	add_where(sql, scope->rows, is_day ? "day" : "hour", piece->span);
	visit_sql_add(sql, " UNION ALL ");
	visit_sql_add(sql, select, list, "rollup_delta");
	add_where(sql, scope->deltas, "hour", piece->span);
}

/* --- series --- */

void rollup_sql_cuts_init(struct rollup_sql_cuts *cuts)
{
	const size_t bytes_max = (STATISTICS_RANGE_POINTS_MAX + 2) * sizeof(int64_t[2]) + 64;
	sql_column_init(&cuts->days, SQL_COLUMN_DATE, bytes_max);
	sql_column_init(&cuts->hours, SQL_COLUMN_TIME, bytes_max);
}

void rollup_sql_cuts_clear(struct rollup_sql_cuts *cuts)
{
	sql_column_clear(&cuts->days);
	sql_column_clear(&cuts->hours);
}

/* A table of roll-ups by day or by hour. */
struct buckets {
	const char *table;
	const char *key;
	const char *type;
	/* Since 1970. */
	const char *seconds;
	int64_t us;
	/* A time of the piece. */
	int64_t from_us;
	/* Whole ones. */
	struct statistics_span span;
	/* Those that are not within one point, or not within the range. */
	struct sql_column *cut;
};

/* Adds the bucket of a time if it is cut there. Times come in order. */
static void add_cut(struct buckets *buckets, int64_t time_us, int64_t *last_us)
{
	int64_t bucket_us = time_us - time_us % buckets->us;
	if (bucket_us == time_us || bucket_us == *last_us || bucket_us < buckets->span.from_us ||
	    bucket_us >= buckets->span.to_us)
		return;
	if (buckets->us == CLOCK_US_PER_DAY)
		sql_column_add_day(buckets->cut, clock_utc_day(bucket_us));
	else
		sql_column_add_time(buckets->cut, bucket_us);
	*last_us = bucket_us;
}

static void find_cuts(struct buckets *buckets, const struct rollup_sql_points *points,
                      struct statistics_span span)
{
	int64_t last_us = -1;
	sql_column_reset(buckets->cut);
	add_cut(buckets, span.from_us, &last_us);
	for (size_t i = 0; i < points->count; i++)
		add_cut(buckets, points->starts[i], &last_us);
	add_cut(buckets, span.to_us, &last_us);
}

/* A series of one point needs no sums by bucket. */
static void add_sums(struct visit_sql *sql, const char *condition, const struct buckets *buckets,
                     const struct rollup_sql_points *points, int cut)
{
	visit_sql_add(sql, "SELECT ");
	if (points->count == 1)
		visit_sql_add(sql, "$%d::bigint",
		              visit_sql_int(sql, buckets->from_us / CLOCK_US_PER_S));
	else
		visit_sql_add(sql, "%s", buckets->seconds);
	visit_sql_add(
		sql,
		", sum(humans)::bigint, sum(bots)::bigint, sum(uniques)::bigint, NULL::text FROM %s",
		buckets->table);
	add_where(sql, condition, buckets->key, buckets->span);
	if (cut > 0)
		visit_sql_add(sql, " AND %s <> ALL ($%d::%s[])", buckets->key, cut, buckets->type);
	if (points->count > 1)
		visit_sql_add(sql, " GROUP BY %s", buckets->key);
}

/* The totals of buckets within one point are added up here, and the others' lists by the caller. */
static void add_buckets(struct visit_sql *sql, const char *condition, const struct buckets *buckets,
                        const struct rollup_sql_points *points)
{
	int64_t count = (buckets->span.to_us - buckets->span.from_us) / buckets->us;
	bool has_whole = buckets->cut->count < count;
	int cut = has_whole && buckets->cut->count > 0 ? visit_sql_column(sql, buckets->cut) : 0;
	if (has_whole)
		add_sums(sql, condition, buckets, points, cut);
	if (buckets->cut->count == 0)
		return;
	visit_sql_add(sql, "%sSELECT %s, 0::bigint, 0::bigint, 0::bigint, quarters FROM %s",
	              has_whole ? " UNION ALL " : "", buckets->seconds, buckets->table);
	add_where(sql, condition, buckets->key, buckets->span);
	if (cut > 0)
		visit_sql_add(sql, " AND %s = ANY ($%d::%s[])", buckets->key, cut, buckets->type);
}

void rollup_sql_add_series(struct visit_sql *sql, const struct rollup_sql_scope *scope,
                           const struct statistics_piece *piece,
                           const struct rollup_sql_points *points, struct rollup_sql_cuts *cuts)
{
	struct buckets days = { .table = scope->days,
		                .key = "day",
		                .type = "date",
		                .seconds = "(day - date '1970-01-01') * 86400::bigint",
		                .us = CLOCK_US_PER_DAY,
		                .from_us = piece->span.from_us,
		                .span = widened(piece->span, CLOCK_US_PER_DAY),
		                .cut = &cuts->days };
	struct buckets hours = { .table = scope->hours,
		                 .key = "hour",
		                 .type = "timestamptz",
		                 .seconds = "extract(epoch FROM hour)::bigint",
		                 .us = CLOCK_US_PER_HOUR,
		                 .from_us = piece->span.from_us,
		                 .span = widened(piece->span, CLOCK_US_PER_HOUR),
		                 .cut = &cuts->hours };
	bool is_day = is_by_day(piece->source);
	find_cuts(&hours, points, piece->span);
	if (is_day)
		find_cuts(&days, points, piece->span);
	add_buckets(sql, scope->rows, is_day ? &days : &hours, points);
	hours.table = "rollup_delta";
	visit_sql_add(sql, " UNION ALL ");
	add_buckets(sql, scope->deltas, &hours, points);
}
