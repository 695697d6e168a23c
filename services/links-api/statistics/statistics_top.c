#include "services/links-api/statistics/statistics.h"

#include <stdio.h>

#include "services/links-api/statistics/visit_sql.h"

struct top {
	size_t limit;
	struct statistics_top *links;
	size_t count;
};

#define COUNT(field) "split_part(entry, E'\\x1f', " field ")::bigint"
#define QUARTER "split_part(entry, E'\\x1f', 4)::integer"

/* Takes the packed lists of quarters apart (db/migrations/0007_rollups.sql). */
static void add_quarters_of(struct visit_sql *sql, const struct visit_sql_table *table,
                            struct statistics_span span)
{
	visit_sql_add(sql,
	              "SELECT link_id, %s + " QUARTER " * interval '15 minutes' AS bucket, " COUNT(
			      "1") " AS humans, " COUNT("2") " AS bots, " COUNT("3") " AS uniques",
	              table->midnight);
	visit_sql_add_rows(sql, table, ", string_to_table(quarters, E'\\x1e') AS entry", span);
}

static void add_quarters(struct visit_sql *sql, struct statistics_span span)
{
	visit_sql_add(sql, "SELECT link_id, humans, bots, uniques FROM (");
	add_quarters_of(sql, &visit_sql_owned_links.days, span);
	visit_sql_add(sql, " UNION ALL ");
	add_quarters_of(sql, &visit_sql_owned_links.deltas, span);
	int from = visit_sql_time(sql, span.from_us);
	int to = visit_sql_time(sql, span.to_us);
	visit_sql_add(
		sql, ") AS quarters WHERE bucket >= $%d::timestamptz AND bucket < $%d::timestamptz",
		from, to);
}

/* Adds everything in the range, one row per link and day, hour, quarter or visit. */
static void add_everything(struct visit_sql *sql, const struct visit_sql_statement *statement)
{
	struct statistics_pieces pieces = visit_sql_pieces(statement);
	for (size_t i = 0; i < pieces.count; i++) {
		const struct statistics_piece *piece = &pieces.of[i];
		visit_sql_add(sql, "%s", i == 0 ? "" : " UNION ALL ");
		if (piece->source == STATISTICS_LOG)
			visit_sql_add_visits(sql, "link_id, ", &visit_sql_owned_links, statement,
			                     piece->span);
		else if (piece->source == STATISTICS_QUARTERS)
			add_quarters(sql, piece->span);
		else
			visit_sql_add_piece(sql, "link_id, humans, bots, uniques",
			                    &visit_sql_owned_links, piece);
	}
}

/* Links whose last visit was before the range are skipped. */
static void write_top(struct visit_sql *sql, const struct visit_sql_statement *statement)
{
	const struct top *top = statement->ctx;
	const struct statistics_query *query = statement->query;
	const char *rank = visit_sql_rank(query->filter->traffic);
	int links = query->link_ids ? visit_sql_column(sql, query->link_ids)
	                            : visit_sql_int(sql, query->workspace_id);
	int from = visit_sql_time(sql, query->counted.from_us);
	visit_sql_add(
		sql,
		"WITH owned AS MATERIALIZED (SELECT id FROM links JOIN link_statistics ON link_id = id "
		"WHERE %s$%d%s AND state <> 'DELETED' AND last_visited_at >= $%d::timestamptz) "
		"SELECT links.id, links.slug, links.title, humans, bots, uniques FROM "
		"(SELECT link_id, " VISIT_SQL_SUMS " FROM (",
		query->link_ids ? "id = ANY ((SELECT " : "workspace_id = ", links,
		query->link_ids ? "::bigint[])::bigint[])" : "::bigint", from);
	add_everything(sql, statement);
	int limit = visit_sql_int(sql, (int64_t)top->limit);
	visit_sql_add(sql,
	              ") AS everything GROUP BY link_id) AS sums JOIN links ON links.id = link_id "
	              "WHERE %s > 0 ORDER BY %s DESC, links.id LIMIT $%d::bigint",
	              rank, rank, limit);
}

static void begin_top(const struct visit_sql_statement *statement)
{
	struct top *top = statement->ctx;
	top->count = 0;
}

static enum err add_link(void *ctx, const struct pg_result *row)
{
	struct top *top = ctx;
	if (top->count == top->limit)
		return ERR_INTERNAL;
	struct statistics_top *link = &top->links[top->count++];
	link->link_id = pg_result_int(row, 0, 0);
	snprintf(link->slug, sizeof(link->slug), "%s", pg_result_text(row, 0, 1));
	snprintf(link->title, sizeof(link->title), "%s", pg_result_text(row, 0, 2));
	link->sums = visit_sql_sums(row, 3);
	return OK;
}

enum err statistics_top(struct pg_conn *conn, struct statistics_query *query, size_t limit,
                        struct statistics_top *links, size_t *count)
{
	struct top top = { .limit = limit, .links = links };
	struct visit_sql_statement statement = { .query = query,
		                                 .unit = STATISTICS_TOTALS,
		                                 .needs_log = query->filter->count > 0,
		                                 .write = write_top,
		                                 .begin = begin_top,
		                                 .on_row = add_link,
		                                 .ctx = &top };
	enum err err = visit_sql_run_statement(conn, &statement);
	if (err == OK)
		*count = top.count;
	return err;
}
