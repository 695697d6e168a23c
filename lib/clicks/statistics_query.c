#include "lib/clicks/statistics_query.h"

#include <stdio.h>

#include "lib/base/clock.h"
#include "lib/base/timestamp.h"
#include "lib/clicks/visit_query.h"

/* How often a question is asked again because the log has lost days meanwhile, which it does once a day. */
#define TRIES 3

/* A visit of the log as a row of a roll-up. */
#define ONE_VISIT "(NOT is_bot)::int AS humans, is_bot::int AS bots, is_unique::int AS uniques"
#define SUMS "sum(humans)::bigint AS humans, sum(bots)::bigint AS bots, sum(uniques)::bigint AS uniques"
#define SUMS_OR_ZERO                                                                                                   \
	"coalesce(sum(humans), 0)::bigint AS humans, coalesce(sum(bots), 0)::bigint AS bots, "                         \
	"coalesce(sum(uniques), 0)::bigint AS uniques"

enum err statistics_query_log_since(struct pg_conn *conn, int64_t *since_us)
{
	struct pg_result *rows = NULL;
	enum err err =
		pg_conn_query(conn, "SELECT since::timestamp AT TIME ZONE 'UTC' FROM visit_log_reach", NULL, &rows);
	if (err == OK)
		*since_us = pg_result_time(rows, 0, 0);
	pg_result_free(rows);
	return err;
}

/* --- asking --- */

/* A day that is finished stays so: whoever asks a moment later finds it where this says. */
static enum err look(struct pg_conn *conn, struct statistics_question *question)
{
	struct pg_result *rows = NULL;
	enum err err =
		pg_conn_query(conn,
	                      "SELECT since::timestamp AT TIME ZONE 'UTC', totals_since::timestamp AT TIME ZONE 'UTC', "
	                      "next_day::timestamp AT TIME ZONE 'UTC' FROM visit_log_reach, finished_days",
	                      NULL, &rows);
	if (err == OK) {
		question->log_since_us = pg_result_time(rows, 0, 0);
		question->finished = (struct statistics_span){ pg_result_time(rows, 0, 1), pg_result_time(rows, 0, 2) };
	}
	pg_result_free(rows);
	return err;
}

/* What a question is written with. */
struct writing {
	const struct statistics_question *question;
	const char *link; /* an expression */
	enum visit_dimension dimension;
	size_t limit;
	const char *starts; /* an array's text */
	int64_t owner_id;
};

/* Totals are of no dimension: theirs is the first one, and rolled up. */
static bool needs_log(const struct writing *writing)
{
	return writing->question->filter->count > 0 || !visit_dimension_is_rolled_up(writing->dimension);
}

/* Its parameter is the first: a statement about one link begins with that. */
#define ONE_LINK "$1::bigint"

typedef void (*writer)(struct visit_query *query, const struct writing *writing);

static enum err ask_once(struct pg_conn *conn, writer write, const struct writing *writing, bool *reads_log,
                         struct pg_result **rows)
{
	struct visit_query query;
	visit_query_init(&query);
	write(&query, writing);
	enum err err = visit_query_run(&query, conn, rows);
	*reads_log = query.reads_log;
	visit_query_clear(&query);
	return err;
}

/*
 * Who reads the log waits for a drop that is under way and then finds less of it: so the reach is looked at again
 * behind the statement, and what was counted counts only if it is still the same. *rows is NULL, which reads as zeroes,
 * where nothing is left of the range: both ends have moved down to the start of one bucket.
 */
static enum err ask(struct pg_conn *conn, struct statistics_question *question, int64_t bucket_us, writer write,
                    const struct writing *writing, struct pg_result **rows)
{
	enum err err = look(conn, question);
	for (int i = 0; err == OK && i < TRIES; i++) {
		if (needs_log(writing) && question->asked.from_us < question->log_since_us)
			return ERR_NOT_FOUND;
		question->counted = statistics_range_countable(question->asked, bucket_us, question->log_since_us);
		*rows = NULL;
		if (statistics_range_is_empty(&question->counted))
			return OK;
		bool reads_log = false;
		struct pg_result *found = NULL;
		err = ask_once(conn, write, writing, &reads_log, &found);
		int64_t since_us = question->log_since_us;
		if (err == OK && reads_log)
			err = statistics_query_log_since(conn, &since_us);
		if (err == OK && since_us == question->log_since_us) {
			*rows = found;
			return OK;
		}
		pg_result_free(found);
		question->log_since_us = since_us;
	}
	return err == OK ? ERR_UNAVAILABLE : err;
}

static struct statistics_sums read_sums(const struct pg_result *rows, size_t row, int column)
{
	return (struct statistics_sums){
		.humans = pg_result_int(rows, row, column),
		.bots = pg_result_int(rows, row, column + 1),
		.uniques = pg_result_int(rows, row, column + 2),
	};
}

/* --- parts of a statement; each is a SELECT --- */

/* "SELECT … UNION ALL SELECT …": what stands between two of them. */
static const char *joint(bool *is_first)
{
	bool was_first = *is_first;
	*is_first = false;
	return was_first ? "" : " UNION ALL ";
}

/* named: a first column, with its comma. */
static void add_buckets(struct visit_query *query, const char *named, const struct writing *writing,
                        struct statistics_span span, const char *table, bool has_dimension)
{
	int from = visit_query_time(query, span.from_us);
	int to = visit_query_time(query, span.to_us);
	visit_query_add(query,
	                "SELECT %shumans, bots, uniques FROM %s WHERE link_id = %s "
	                "AND bucket >= $%d::timestamptz AND bucket < $%d::timestamptz",
	                named, table, writing->link, from, to);
	if (has_dimension)
		visit_query_add(query, " AND dimension = '%s'", visit_dimension_name(writing->dimension));
}

static void add_days(struct visit_query *query, const char *named, const struct writing *writing,
                     struct statistics_span span, bool has_dimension)
{
	int from = visit_query_day(query, clock_utc_day(span.from_us));
	int to = visit_query_day(query, clock_utc_day(span.to_us));
	visit_query_add(
		query,
		"SELECT %shumans, bots, uniques FROM %s WHERE link_id = %s AND day >= $%d::date AND day < $%d::date",
		named, has_dimension ? "visit_rollup_day" : "visit_total_day", writing->link, from, to);
	if (has_dimension)
		visit_query_add(query, " AND dimension = '%s'", visit_dimension_name(writing->dimension));
}

static void add_visits(struct visit_query *query, const char *named, const struct writing *writing,
                       struct statistics_span span)
{
	visit_query_add(query, "SELECT %s" ONE_VISIT, named);
	visit_query_add_log(query, writing->link, span, writing->question->filter);
}

/* What the range has in days and quarters of an hour; gives whether that is nothing. named as below. */
static bool add_rolled_totals(struct visit_query *query, const char *named, const struct writing *writing,
                              const struct statistics_range *range)
{
	bool is_first = true;
	if (!statistics_range_is_empty(&range->days)) {
		visit_query_add(query, "%s", joint(&is_first));
		add_days(query, named, writing, range->days, false);
	}
	for (size_t i = 0; i < 2; i++) {
		if (statistics_range_is_empty(&range->buckets[i]))
			continue;
		visit_query_add(query, "%s", joint(&is_first));
		add_buckets(query, named, writing, range->buckets[i], "visit_rollup_quarter", false);
	}
	return is_first;
}

static struct statistics_range range_of_totals(const struct writing *writing, struct statistics_span span)
{
	struct statistics_span none = { 0, 0 };
	/* A day is no single point of a series: zones begin their days whenever they like. */
	return statistics_range_of(span, STATISTICS_RANGE_QUARTER_US,
	                           writing->starts ? none : writing->question->finished);
}

/*
 * Everything in the range, a row per day, quarter of an hour or visit. named_bucket, named_visit: a first column, with its
 * comma.
 */
static void add_everything(struct visit_query *query, const char *named_bucket, const char *named_visit,
                           const struct writing *writing)
{
	const struct statistics_question *question = writing->question;
	if (question->filter->count > 0) {
		add_visits(query, named_visit, writing, question->counted);
		return;
	}
	struct statistics_range range = range_of_totals(writing, question->counted);
	bool is_first = add_rolled_totals(query, named_bucket, writing, &range);
	for (size_t i = 0; i < 2; i++) {
		if (statistics_range_is_empty(&range.log[i]))
			continue;
		visit_query_add(query, "%s", joint(&is_first));
		add_visits(query, named_visit, writing, range.log[i]);
	}
}

/* Whose visits decide what is listed, and in which order. */
static const char *rank_of(enum visit_filter_who who)
{
	static const char *const ranks[] = {
		[VISIT_FILTER_HUMANS] = "humans",
		[VISIT_FILTER_EVERYBODY] = "humans + bots",
		[VISIT_FILTER_BOTS] = "bots",
	};
	return ranks[who];
}

/* --- totals --- */

static void write_total(struct visit_query *query, const struct writing *writing)
{
	visit_query_int(query, writing->question->link_id);
	visit_query_add(query, "SELECT " SUMS_OR_ZERO " FROM (");
	add_everything(query, "", "", writing);
	visit_query_add(query, ") AS everything");
}

enum err statistics_query_total(struct pg_conn *conn, struct statistics_question *question, struct statistics_sums *out)
{
	struct writing writing = { .question = question, .link = ONE_LINK };
	struct pg_result *rows = NULL;
	enum err err = ask(conn, question, STATISTICS_RANGE_QUARTER_US, write_total, &writing, &rows);
	if (err == OK)
		*out = read_sums(rows, 0, 0);
	pg_result_free(rows);
	return err;
}

/* --- series --- */

static void write_series(struct visit_query *query, const struct writing *writing)
{
	char bucket[64], visit[64];
	visit_query_int(query, writing->question->link_id);
	int starts = visit_query_text(query, writing->starts);
	snprintf(bucket, sizeof(bucket), "width_bucket(bucket, $%d::timestamptz[]) AS point, ", starts);
	snprintf(visit, sizeof(visit), "width_bucket(occurred_at, $%d::timestamptz[]) AS point, ", starts);
	visit_query_add(query, "SELECT point, " SUMS " FROM (");
	add_everything(query, bucket, visit, writing);
	visit_query_add(query, ") AS everything GROUP BY point");
}

static void write_starts(struct strbuf *text, const int64_t *starts, size_t count)
{
	char time[TIMESTAMP_TEXT_SIZE];
	strbuf_init(text, 2 + count * TIMESTAMP_TEXT_SIZE);
	for (size_t i = 0; i < count; i++) {
		timestamp_format_us(starts[i], time);
		strbuf_add_format(text, "%c%s", i == 0 ? '{' : ',', time);
	}
	strbuf_add_char(text, '}');
}

enum err statistics_query_series(struct pg_conn *conn, struct statistics_question *question, const int64_t *starts,
                                 size_t count, struct statistics_sums *out)
{
	if (count == 0 || count > STATISTICS_QUERY_POINTS_MAX)
		return ERR_INTERNAL;
	struct strbuf text;
	write_starts(&text, starts, count);
	struct writing writing = { .question = question, .link = ONE_LINK, .starts = text.data };
	struct pg_result *rows = NULL;
	enum err err = ask(conn, question, STATISTICS_RANGE_QUARTER_US, write_series, &writing, &rows);
	for (size_t i = 0; err == OK && i < count; i++)
		out[i] = (struct statistics_sums){ 0 };
	for (size_t i = 0; err == OK && i < pg_result_count(rows); i++) {
		int64_t point = pg_result_int(rows, i, 0);
		if (point >= 1 && (size_t)point <= count)
			out[point - 1] = read_sums(rows, i, 1);
	}
	pg_result_free(rows);
	strbuf_clear(&text);
	return err;
}

/* --- values of a dimension --- */

/* rolled: by value, what days and hours have. */
static void add_rolled(struct visit_query *query, const struct writing *writing, const struct statistics_range *range)
{
	bool is_first = true;
	visit_query_add(query, "rolled AS MATERIALIZED (SELECT value, " SUMS " FROM (");
	if (!statistics_range_is_empty(&range->days)) {
		visit_query_add(query, "%s", joint(&is_first));
		add_days(query, "value, ", writing, range->days, true);
	}
	for (size_t i = 0; i < 2; i++) {
		if (statistics_range_is_empty(&range->buckets[i]))
			continue;
		visit_query_add(query, "%s", joint(&is_first));
		add_buckets(query, "value, ", writing, range->buckets[i], "visit_rollup_hour", true);
	}
	visit_query_add(query, ") AS buckets GROUP BY value), ");
}

/* What roll-ups do not name is the total without what they name. */
static void add_unnamed(struct visit_query *query, const struct writing *writing, struct statistics_span span)
{
	visit_query_add(query, "SELECT '', t.humans - n.humans, t.bots - n.bots, t.uniques - n.uniques FROM "
	                       "(SELECT " SUMS_OR_ZERO " FROM (");
	struct statistics_range range = range_of_totals(writing, span);
	(void)add_rolled_totals(query, "", writing, &range);
	visit_query_add(query, ") AS everything) AS t, (SELECT " SUMS_OR_ZERO " FROM rolled) AS n");
}

static void add_counted(struct visit_query *query, const struct writing *writing)
{
	const struct statistics_question *question = writing->question;
	char named[64];
	snprintf(named, sizeof(named), "%s AS value, ", visit_dimension_column(writing->dimension));
	if (needs_log(writing)) {
		visit_query_add(query, "WITH counted AS (");
		add_visits(query, named, writing, question->counted);
		return;
	}
	struct statistics_span finished = { 0, question->finished.to_us };
	struct statistics_range range = statistics_range_of(question->counted, CLOCK_US_PER_HOUR, finished);
	bool is_first = true;
	visit_query_add(query, "WITH ");
	if (!statistics_range_is_empty(&range.rolled)) {
		add_rolled(query, writing, &range);
		visit_query_add(query, "counted AS (%sSELECT * FROM rolled UNION ALL ", joint(&is_first));
		add_unnamed(query, writing, range.rolled);
	} else {
		visit_query_add(query, "counted AS (");
	}
	for (size_t i = 0; i < 2; i++) {
		if (statistics_range_is_empty(&range.log[i]))
			continue;
		visit_query_add(query, "%s", joint(&is_first));
		add_visits(query, named, writing, range.log[i]);
	}
}

static void write_values(struct visit_query *query, const struct writing *writing)
{
	const char *rank = rank_of(writing->question->filter->who);
	visit_query_int(query, writing->question->link_id);
	add_counted(query, writing);
	int limit = visit_query_int(query, (int64_t)writing->limit);
	visit_query_add(query,
	                "), sums AS MATERIALIZED (SELECT value COLLATE \"C\" AS value, " SUMS
	                " FROM counted GROUP BY 1) "
	                "SELECT t.humans, t.bots, t.uniques, v.value, v.humans, v.bots, v.uniques FROM "
	                "(SELECT " SUMS_OR_ZERO " FROM sums) AS t LEFT JOIN LATERAL (SELECT * FROM sums "
	                "WHERE %s > 0 ORDER BY %s DESC, value LIMIT $%d::bigint) AS v ON true",
	                rank, rank, limit);
}

enum err statistics_query_values(struct pg_conn *conn, struct statistics_question *question,
                                 enum visit_dimension dimension, size_t limit, struct statistics_value *values,
                                 size_t *count, struct statistics_sums *total)
{
	struct writing writing = { .question = question, .link = ONE_LINK, .dimension = dimension, .limit = limit };
	struct pg_result *rows = NULL;
	enum err err = ask(conn, question, CLOCK_US_PER_HOUR, write_values, &writing, &rows);
	if (err != OK)
		return err;
	*total = read_sums(rows, 0, 0);
	*count = pg_result_is_null(rows, 0, 3) ? 0 : pg_result_count(rows);
	for (size_t i = 0; i < *count; i++) {
		snprintf(values[i].value, sizeof(values[i].value), "%s", pg_result_text(rows, i, 3));
		values[i].sums = read_sums(rows, i, 4);
	}
	pg_result_free(rows);
	return OK;
}

/* --- links --- */

/* In one go, not one by one: what links have is scattered over the same pages, which are then read once. */
#define ANY_OF_MINE "ANY (ARRAY(SELECT id FROM mine))"

/* A visit in the range says that the last one was no earlier: the others need not be looked at. */
static void write_top(struct visit_query *query, const struct writing *writing)
{
	const char *rank = rank_of(writing->question->filter->who);
	int owner = visit_query_int(query, writing->owner_id);
	int from = visit_query_time(query, writing->question->counted.from_us);
	visit_query_add(query,
	                "WITH mine AS MATERIALIZED (SELECT id FROM links JOIN link_statistics ON link_id = id "
	                "WHERE owner_id = $%d::bigint AND state <> 'DELETED' AND last_visited_at >= $%d::timestamptz) "
	                "SELECT links.id, links.slug, links.title, humans, bots, uniques FROM "
	                "(SELECT link_id, " SUMS " FROM (",
	                owner, from);
	add_everything(query, "link_id, ", "link_id, ", writing);
	int limit = visit_query_int(query, (int64_t)writing->limit);
	visit_query_add(query,
	                ") AS everything GROUP BY link_id) AS sums JOIN links ON links.id = link_id "
	                "WHERE %s > 0 ORDER BY %s DESC, links.id LIMIT $%d::bigint",
	                rank, rank, limit);
}

enum err statistics_query_top(struct pg_conn *conn, struct statistics_question *question, int64_t owner_id,
                              size_t limit, struct statistics_top *links, size_t *count)
{
	struct writing writing = { .question = question, .link = ANY_OF_MINE, .owner_id = owner_id, .limit = limit };
	struct pg_result *rows = NULL;
	enum err err = ask(conn, question, STATISTICS_RANGE_QUARTER_US, write_top, &writing, &rows);
	if (err != OK)
		return err;
	*count = pg_result_count(rows);
	for (size_t i = 0; i < *count; i++) {
		links[i].link_id = pg_result_int(rows, i, 0);
		snprintf(links[i].slug, sizeof(links[i].slug), "%s", pg_result_text(rows, i, 1));
		snprintf(links[i].title, sizeof(links[i].title), "%s", pg_result_text(rows, i, 2));
		links[i].sums = read_sums(rows, i, 3);
	}
	pg_result_free(rows);
	return OK;
}
