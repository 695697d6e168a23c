#include "tools/rebuild-stats/rebuild_difference.h"

#include <stdio.h>

#include "lib/base/array.h"
#include "lib/clicks/visit_dimension.h"

/* table_id: enum rollup_table. id: of the link or the account. hour: when the row begins. */
#define ENTRY                                                                                                       \
	"(table_id integer, id bigint, hour timestamptz, dimension text, value text COLLATE \"C\", humans bigint, " \
	"bots bigint, uniques bigint);"
static const char tables_sql[] =
	"CREATE TEMPORARY TABLE rebuild_rollup " ENTRY
	"CREATE INDEX ON rebuild_rollup (table_id, id, hour);"
	"CREATE TEMPORARY TABLE rebuild_statistics (link_id bigint, humans bigint, bots bigint, uniques bigint, "
	"old_last timestamptz, new_last timestamptz, old_n bigint, old_mean float8, old_m2 float8, "
	"new_n bigint, new_mean float8, new_m2 float8);"
	"CREATE TEMPORARY TABLE rebuild_day (log_start date, detached date[]);"
	"CREATE TEMPORARY TABLE rebuild_hour " ENTRY;

/*
 * The janitor records in visit_log_reach when it drops a partition or deletes visits.
 * Partitions that an operator dropped by hand are noticed when the oldest partition is younger than
 * the schema. Otherwise the log begins with the first click, whatever its day. No partition can be
 * dropped, created or detached while the transaction holds its lock.
 */
static const char days_of_log_sql[] =
	"INSERT INTO rebuild_day SELECT greatest((SELECT since FROM visit_log_reach), "
	"CASE WHEN oldest > (SELECT min(applied_at) AT TIME ZONE 'UTC' FROM schema_migrations)::date THEN oldest "
	"ELSE '-infinity' END), detached FROM (SELECT (SELECT min(to_date(right(relname, 8), 'YYYYMMDD')) FROM pg_inherits "
	"JOIN pg_class ON pg_class.oid = inhrelid WHERE inhparent = 'visit_log'::regclass AND relname ~ '^visit_log_[0-9]{8}$') AS oldest, "
	"ARRAY(SELECT to_date(right(relname, 8), 'YYYYMMDD') FROM pg_class WHERE relname ~ '^visit_log_[0-9]{8}$' "
	"AND relkind = 'r' AND NOT relispartition AND relnamespace = 'public'::regnamespace) AS detached) AS found";

#define HAS_DAY(day) day " >= log_start AND " day " <> ALL (detached)"
#define UTC_DAY(time) "(" time " AT TIME ZONE 'UTC')::date"
#define LINKS(id) id " BETWEEN $1 AND $2 AND EXISTS (SELECT FROM links WHERE links.id = " id ")"
/* The first condition is that of the log's index. */
#define ACCOUNTS(id)                                                                               \
	id " <> 0 AND " id                                                                         \
	   " BETWEEN $1 AND $2 AND EXISTS (SELECT FROM workspaces AS w WHERE w.id = " id           \
	   " AND w.deleted_at IS NULL)"
#define SUMS                                                                                       \
	"count(*) FILTER (WHERE NOT is_bot) AS humans, count(*) FILTER (WHERE is_bot) AS bots, "   \
	"count(*) FILTER (WHERE is_unique) AS uniques"
#define ADD_UP                                                                                     \
	"sum(humans)::bigint AS humans, sum(bots)::bigint AS bots, sum(uniques)::bigint AS uniques"
#define AMOUNTS                                                                                      \
	"coalesce(w.humans, 0) - coalesce(s.humans, 0), coalesce(w.bots, 0) - coalesce(s.bots, 0), " \
	"coalesce(w.uniques, 0) - coalesce(s.uniques, 0)"
/* A row of zeroes equals a missing row. */
#define DIFFERS                                                                                    \
	"(coalesce(w.humans, 0), coalesce(w.bots, 0), coalesce(w.uniques, 0)) <> "                 \
	"(coalesce(s.humans, 0), coalesce(s.bots, 0), coalesce(s.uniques, 0))"

/* The entries of the log by hour. */
#define FACT(NAME, name) ", ('" #name "', " #name ")"
#define LOG_HOURS(id, chosen)                                                                                        \
	"INSERT INTO rebuild_hour SELECT 0, " id                                                                     \
	", date_trunc('hour', occurred_at, 'UTC'), dimension, value, " SUMS                                          \
	" FROM rebuild_day, visit_log CROSS JOIN LATERAL (VALUES "                                                   \
	"('quarters', (floor(extract(epoch FROM occurred_at))::bigint / 900 % 96)::text)" VISIT_DIMENSION_ROLLED_UP( \
		FACT) ") AS fact (dimension, value) WHERE " chosen(id) " AND " HAS_DAY("day") " AND value <> '' GROUP BY 2, 3, 4, 5"

/*
 * Compares the entries of the log with the stored ones: rows of id, key, dimension, value and
 * counts. A list with "(other)" has lost names, so only its sum is compared.
 */
#define NAMED "CASE WHEN cut.id IS NULL THEN value ELSE '(other)' END AS value, "
#define COMPARE(table, start, log, stored)                                                         \
	"WITH stored AS MATERIALIZED (SELECT id, key, dimension, value, " ADD_UP " FROM (" stored  \
	") AS rows GROUP BY 1, 2, 3, 4), "                                                         \
	"cut AS (SELECT id, key, dimension FROM stored WHERE value = '(other)'), "                 \
	"w AS (SELECT id, key, dimension, " NAMED ADD_UP " FROM (" log                             \
	") AS log LEFT JOIN cut USING (id, key, dimension) GROUP BY 1, 2, 3, 4), "                 \
	"s AS (SELECT id, key, dimension, " NAMED ADD_UP                                           \
	" FROM stored LEFT JOIN cut USING (id, key, dimension) GROUP BY 1, 2, 3, 4) "              \
	"INSERT INTO rebuild_rollup SELECT " table ", id, " start ", dimension, value, " AMOUNTS   \
	" FROM w FULL JOIN s USING (id, key, dimension, value) WHERE " DIFFERS

#define IS_KEPT UTC_DAY("hour") " >= (SELECT hours_since FROM rollup_progress)"
#define COMPARE_HOURS(table, id, chosen, entries)                                                  \
	COMPARE(table, "key", "SELECT *, hour AS key FROM rebuild_hour WHERE " IS_KEPT,            \
	        "SELECT *, " id " AS id, hour AS key FROM " entries ", rebuild_day WHERE " chosen( \
			id) " AND " HAS_DAY(UTC_DAY("hour")) " AND " IS_KEPT)
#define MIDNIGHT(day) day "::timestamp AT TIME ZONE 'UTC'"
#define COMPARE_DAYS(table, id, chosen, entries)                                                   \
	COMPARE(table, MIDNIGHT("key"), "SELECT *, " UTC_DAY("hour") " AS key FROM rebuild_hour",  \
	        "SELECT *, " id " AS id, day AS key FROM " entries                                 \
	        ", rebuild_day WHERE " chosen(id) " AND " HAS_DAY("day"))

/* Rows whose totals are not the sums of their quarters. A repair computes them again. */
#define WRONG_TOTALS(table, start, source, id, chosen, day)                                        \
	"INSERT INTO rebuild_rollup SELECT " table ", " id ", " start                              \
	", 'quarters', '0', 0, 0, 0 FROM " source                                                  \
	" AS t, rebuild_day WHERE " chosen(id) " AND " HAS_DAY(                                    \
		day) " AND (t.humans, t.bots, t.uniques) <> (SELECT coalesce(sum(humans), 0), "    \
		     "coalesce(sum(bots), 0), coalesce(sum(uniques), 0) "                          \
		     "FROM rollup_entries(jsonb_build_object('quarters', t.quarters)))"

/* What follows is in the order of enum rollup_table. */
static const char *const links_sql[] = {
	LOG_HOURS("link_id", LINKS),
	COMPARE_HOURS("0", "link_id", LINKS, "rollup_hour_entries"),
	COMPARE_DAYS("1", "link_id", LINKS, "rollup_day_entries"),
	WRONG_TOTALS("0", "hour", "rollup_hour", "link_id", LINKS, UTC_DAY("hour")),
	WRONG_TOTALS("1", MIDNIGHT("day"), "rollup_day", "link_id", LINKS, "day"),
};
static const char *const accounts_sql[] = {
	LOG_HOURS("workspace_id", ACCOUNTS),
	COMPARE_HOURS("2", "workspace_id", ACCOUNTS, "rollup_workspace_hour_entries"),
	COMPARE_DAYS("3", "workspace_id", ACCOUNTS, "rollup_workspace_day_entries"),
	WRONG_TOTALS("2", "hour", "rollup_workspace_hour", "workspace_id", ACCOUNTS,
	             UTC_DAY("hour")),
	WRONG_TOTALS("3", MIDNIGHT("day"), "rollup_workspace_day", "workspace_id", ACCOUNTS, "day"),
};

#define LATENCY                                                                                    \
	"count(*) AS n, coalesce(avg(latency_us / 1000.0::float8), 0) AS mean, "                   \
	"coalesce(var_pop(latency_us / 1000.0::float8) * count(*), 0) AS m2, max(occurred_at) AS last"
/* The tolerance covers the rounding between sums in batches and in one pass. */
#define FAR(a, b) "abs(" a " - " b ") > 1e-9 * greatest(1, abs(" a "))"

/*
 * w: the sums of the log, plus the roll-ups of days that the log no longer has. Unique visitors of
 * such links get only the differences within the log's days.
 */
#define STATISTICS_DIFFERENCE                                                                           \
	"INSERT INTO rebuild_statistics "                                                               \
	"SELECT link_id, w.humans - s.humans, w.bots - s.bots, w.uniques - s.uniques, s.last, w.last, " \
	"s.n, s.mean, s.m2, w.n, w.mean, w.m2 FROM wanted w JOIN stored s USING (link_id) "             \
	"WHERE (w.humans, w.bots, w.uniques, w.n) <> (s.humans, s.bots, s.uniques, s.n) "               \
	"OR w.last IS DISTINCT FROM s.last OR " FAR("w.mean", "s.mean") " OR " FAR("w.m2", "s.m2")
#define STORED(ids)                                                                                             \
	"stored AS (SELECT id AS link_id, coalesce(visit_count, 0) AS humans, coalesce(bot_count, 0) AS bots, " \
	"coalesce(unique_visitors, 0) AS uniques, last_visited_at AS last, coalesce(latency_count, 0) AS n, "   \
	"coalesce(latency_mean_ms, 0) AS mean, coalesce(latency_m2, 0) AS m2 FROM " ids                         \
	" LEFT JOIN link_statistics ON link_id = id) "

/* The roll-ups of days that the log does not have. */
#define OLDER                                                                                                        \
	"older AS (SELECT link_id, sum(humans)::bigint AS humans, sum(bots)::bigint AS bots FROM "                   \
	"(SELECT link_id, humans, bots, day FROM rollup_day UNION ALL "                                              \
	"SELECT link_id, humans, bots, " UTC_DAY("hour") " FROM rollup_delta) AS counted, rebuild_day WHERE " LINKS( \
		"link_id") " AND NOT (" HAS_DAY("day") ") GROUP BY 1), "
/* What the days of roll-ups lack of the log. */
#define AMISS                                                                                      \
	"amiss AS (SELECT id AS link_id, sum(uniques)::bigint AS uniques FROM rebuild_rollup "     \
	"WHERE dimension = 'quarters' AND table_id = 1 GROUP BY 1), "
#define KNOWN                                                                                                             \
	"known AS (SELECT id AS link_id, older.link_id IS NULL AND (created_at >= log_start OR log_start = '-infinity') " \
	"AND NOT EXISTS (SELECT FROM unnest(detached) AS day WHERE day >= created_at::date) AS is_complete "              \
	"FROM rebuild_day, asked LEFT JOIN older ON link_id = id), "
#define LOG                                                                                        \
	"log AS (SELECT link_id, " SUMS ", " LATENCY " FROM visit_log, rebuild_day WHERE " LINKS(  \
		"link_id") " AND " HAS_DAY("day") " GROUP BY 1), "

static const char statistics_sql[] =
	"WITH asked AS (SELECT id, created_at FROM links WHERE id BETWEEN $1 AND $2), " STORED(
		"asked") ", " LOG OLDER AMISS
		KNOWN "wanted AS (SELECT link_id, coalesce(log.humans, 0) + coalesce(older.humans, 0) AS humans, "
			 "coalesce(log.bots, 0) + coalesce(older.bots, 0) AS bots, "
			 "CASE WHEN is_complete THEN coalesce(log.uniques, 0) ELSE stored.uniques + coalesce(amiss.uniques, 0) END AS uniques, "
			 "CASE WHEN is_complete THEN log.last ELSE greatest(log.last, stored.last) END AS last, "
			 "CASE WHEN is_complete THEN coalesce(log.n, 0) ELSE stored.n END AS n, "
			 "CASE WHEN is_complete THEN coalesce(log.mean, 0) ELSE stored.mean END AS mean, "
			 "CASE WHEN is_complete THEN coalesce(log.m2, 0) ELSE stored.m2 END AS m2 "
			 "FROM known JOIN stored USING (link_id) LEFT JOIN log USING (link_id) LEFT JOIN older USING (link_id) "
			 "LEFT JOIN amiss USING (link_id)) " STATISTICS_DIFFERENCE;

static const char platform_sql[] = "WITH asked AS (SELECT 0::bigint AS id), " STORED(
	"asked") ", "
		 "wanted AS (SELECT 0::bigint AS link_id, " SUMS ", " LATENCY
		 " FROM visit_log) " STATISTICS_DIFFERENCE;

static enum err begin(struct pg_conn *conn)
{
	enum err err = pg_conn_begin(conn);
	if (err == OK)
		err = pg_conn_query(conn, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", NULL,
		                    NULL);
	/* Locks before the snapshot is taken, so that the snapshot sees the current partitions. */
	if (err == OK)
		err = pg_conn_query(conn, "LOCK TABLE visit_log IN ACCESS SHARE MODE", NULL, NULL);
	if (err == OK)
		err = pg_conn_query(
			conn,
			"TRUNCATE rebuild_rollup, rebuild_statistics, rebuild_hour, rebuild_day",
			NULL, NULL);
	if (err == OK)
		err = pg_conn_query(conn, days_of_log_sql, NULL, NULL);
	return err;
}

static enum err end(struct pg_conn *conn, enum err err)
{
	if (err == OK)
		return pg_conn_commit(conn);
	if (pg_conn_in_transaction(conn))
		pg_conn_rollback(conn);
	return err;
}

static enum err count(struct pg_conn *conn, struct rebuild_difference *out)
{
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(
		conn,
		"SELECT count(*) FILTER (WHERE table_id = 0), count(*) FILTER (WHERE table_id = 1), "
		"count(*) FILTER (WHERE table_id = 2), count(*) FILTER (WHERE table_id = 3), "
		"(SELECT count(*) FROM rebuild_statistics) FROM rebuild_rollup",
		NULL, &rows);
	for (int table = 0; err == OK && table < ROLLUP_TABLES; table++)
		out->rows[table] = pg_result_int(rows, 0, table);
	if (err == OK)
		out->statistics = pg_result_int(rows, 0, ROLLUP_TABLES);
	pg_result_free(rows);
	return err;
}

enum err rebuild_difference_prepare(struct pg_conn *conn)
{
	return pg_conn_script(conn, tables_sql);
}

enum err rebuild_difference_log_start(struct pg_conn *conn, char *out, size_t size)
{
	struct pg_result *rows = NULL;
	enum err err = begin(conn);
	if (err == OK)
		err = pg_conn_query(conn, "SELECT log_start FROM rebuild_day", NULL, &rows);
	if (err == OK)
		snprintf(out, size, "%s", pg_result_text(rows, 0, 0));
	pg_result_free(rows);
	return end(conn, err);
}

enum err rebuild_difference_find(struct pg_conn *conn, enum rebuild_difference_scope scope,
                                 int64_t first, int64_t last, struct rebuild_difference *out)
{
	bool is_links = scope == REBUILD_DIFFERENCE_LINKS;
	struct pg_params params = { 0 };
	struct rebuild_difference found = { 0 };
	pg_params_int(&params, first);
	pg_params_int(&params, last);
	enum err err = begin(conn);
	for (size_t i = 0; err == OK && i < ARRAY_SIZE(links_sql); i++)
		err = pg_conn_query(conn, is_links ? links_sql[i] : accounts_sql[i], &params, NULL);
	if (err == OK && is_links)
		err = pg_conn_query(conn, statistics_sql, &params, NULL);
	if (err == OK)
		err = count(conn, &found);
	err = end(conn, err);
	if (err == OK)
		*out = found;
	return err;
}

enum err rebuild_difference_find_platform(struct pg_conn *conn, struct rebuild_difference *out)
{
	struct rebuild_difference found = { 0 };
	int64_t is_complete = 0;
	enum err err = begin(conn);
	if (err == OK)
		err = pg_conn_query_int(
			conn,
			"SELECT (log_start = '-infinity' AND detached = '{}')::integer FROM rebuild_day",
			NULL, &is_complete);
	if (err == OK && !is_complete)
		err = ERR_NOT_FOUND;
	if (err == OK)
		err = pg_conn_query(conn, platform_sql, NULL, NULL);
	if (err == OK)
		err = count(conn, &found);
	err = end(conn, err);
	if (err == OK)
		*out = found;
	return err;
}

int64_t rebuild_difference_sum(const struct rebuild_difference *difference)
{
	int64_t sum = difference->statistics;
	for (size_t table = 0; table < ROLLUP_TABLES; table++)
		sum += difference->rows[table];
	return sum;
}
