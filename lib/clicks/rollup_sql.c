#include "lib/clicks/rollup_sql.h"

#include <string.h>

#include "lib/base/clock.h"

/* The conditions on link_id and on key, which is "hour" or "day". */
static void add_where(struct visit_sql *sql, const char *link, const char *key,
                      struct statistics_span span)
{
	bool is_day = strcmp(key, "day") == 0;
	int from = is_day ? visit_sql_day(sql, clock_utc_day(span.from_us))
	                  : visit_sql_time(sql, span.from_us);
	int to = is_day ? visit_sql_day(sql, clock_utc_day(span.to_us))
	                : visit_sql_time(sql, span.to_us);
	const char *type = is_day ? "date" : "timestamptz";
	visit_sql_add(sql, " WHERE link_id = %s AND %s >= $%d::%s AND %s < $%d::%s", link, key,
	              from, type, key, to, type);
}

/* Whether the rows of a source are by day. Besides them, deltas have what is not folded yet. */
static bool is_by_day(enum statistics_source source)
{
	return source == STATISTICS_DAYS || source == STATISTICS_QUARTERS_OF_DAYS;
}

void rollup_sql_add_totals(struct visit_sql *sql, const char *columns, const char *link,
                           const struct statistics_piece *piece)
{
	bool is_day = is_by_day(piece->source);
	visit_sql_add(sql, "SELECT %shumans, bots, uniques FROM %s", columns,
	              is_day ? "rollup_day" : "rollup_hour");
	add_where(sql, link, is_day ? "day" : "hour", piece->span);
	visit_sql_add(sql, " UNION ALL SELECT %shumans, bots, uniques FROM rollup_delta", columns);
	add_where(sql, link, "hour", piece->span);
}

#define COUNT(field) "split_part(entry, E'\\x1f', " field ")::bigint"
#define COUNTS COUNT("1") " AS humans, " COUNT("2") " AS bots, " COUNT("3") " AS uniques"
#define VALUE "split_part(entry, E'\\x1f', 4)"
/* Takes the packed list of a column apart (db/migrations/0015_packed_rollups.sql). */
#define FROM_ENTRIES(list) COUNTS " FROM %s, string_to_table(" list ", E'\\x1e') AS entry"
#define QUARTER_START(midnight) midnight " + " VALUE "::integer * interval '15 minutes' AS bucket, "

/* Rows of days and hours that have a part of the span. */
static struct statistics_span widened(struct statistics_span span, int64_t bucket_us)
{
	span.from_us -= span.from_us % bucket_us;
	span.to_us += (bucket_us - span.to_us % bucket_us) % bucket_us;
	return span;
}

void rollup_sql_add_quarters(struct visit_sql *sql, const char *columns, const char *link,
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
		visit_sql_add(sql, by_day, "rollup_day");
		add_where(sql, link, "day", widened(piece->span, CLOCK_US_PER_DAY));
	} else {
		visit_sql_add(sql, by_hour, "rollup_hour");
		add_where(sql, link, "hour", hours);
	}
	visit_sql_add(sql, " UNION ALL ");
	visit_sql_add(sql, by_hour, "rollup_delta");
	add_where(sql, link, "hour", hours);
	int from = visit_sql_time(sql, piece->span.from_us);
	int to = visit_sql_time(sql, piece->span.to_us);
	visit_sql_add(
		sql, ") AS quarters WHERE bucket >= $%d::timestamptz AND bucket < $%d::timestamptz",
		from, to);
}

void rollup_sql_add_values(struct visit_sql *sql, enum visit_dimension dimension, const char *link,
                           const struct statistics_piece *piece)
{
	const char *list = visit_dimension_name(dimension);
	bool is_day = is_by_day(piece->source);
	static const char select[] = "SELECT " VALUE " AS value, " FROM_ENTRIES("%s");
	visit_sql_add(sql, select, is_day ? "rollup_day" : "rollup_hour", list);
	add_where(sql, link, is_day ? "day" : "hour", piece->span);
	visit_sql_add(sql, " UNION ALL ");
	visit_sql_add(sql, select, "rollup_delta", list);
	add_where(sql, link, "hour", piece->span);
}
