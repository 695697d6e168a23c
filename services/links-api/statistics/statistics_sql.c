#include "services/links-api/statistics/statistics_sql.h"

#include <stdio.h>

#include "services/links-api/statistics/rollup_sql.h"
#include "services/links-api/statistics/statistics_statement.h"

enum err statistics_sql_log_since(struct pg_conn *conn, int64_t *since_us)
{
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(
		conn, "SELECT since::timestamp AT TIME ZONE 'UTC' FROM visit_log_reach", NULL,
		&rows);
	if (err == OK)
		*since_us = pg_result_time(rows, 0, 0);
	pg_result_free(rows);
	return err;
}

/* A series of one point. */
enum err statistics_sql_total(struct pg_conn *conn, struct statistics_query *query,
                              struct statistics_sums *out)
{
	int64_t from_us = query->requested.from_us;
	int64_t start_us = from_us - from_us % STATISTICS_RANGE_QUARTER_US;
	return statistics_sql_series(conn, query, &start_us, 1, out);
}

/* --- the most visited links --- */

struct top {
	size_t limit;
	struct statistics_top *links;
	size_t count;
};

/* Reads all links at once, because their rows share pages, which are then read only once. */
#define OWNED "link_id = ANY (ARRAY(SELECT id FROM owned))"
static const struct rollup_sql_scope owned = { "rollup_hour", "rollup_day", OWNED, OWNED, OWNED };

static const char column[] = "link_id, ";

/* Adds everything in the range, one row per link and day, hour, quarter or visit. */
static void add_everything(struct visit_sql *sql, const struct statistics_statement *statement)
{
	struct statistics_pieces pieces = statistics_statement_pieces(statement);
	bool is_first = true;
	for (size_t i = 0; i < pieces.count; i++) {
		const struct statistics_piece *piece = &pieces.of[i];
		visit_sql_add(sql, "%s", statistics_statement_union(&is_first));
		if (piece->source == STATISTICS_LOG)
			statistics_statement_add_visits(sql, column, &owned, statement,
			                                piece->span);
		else if (piece->source == STATISTICS_HOURS || piece->source == STATISTICS_DAYS)
			rollup_sql_add_totals(sql, column, &owned, piece);
		else
			rollup_sql_add_quarters(sql, column, &owned, piece);
	}
}

/* Links whose last visit was before the range are skipped. */
static void write_top(struct visit_sql *sql, const struct statistics_statement *statement)
{
	const struct top *top = statement->ctx;
	const struct statistics_query *query = statement->query;
	const char *rank = statistics_statement_rank(query->filter->traffic);
	int links = query->link_ids ? visit_sql_column(sql, query->link_ids)
	                            : visit_sql_int(sql, query->account_id);
	int from = visit_sql_time(sql, query->counted.from_us);
	visit_sql_add(
		sql,
		"WITH owned AS MATERIALIZED (SELECT id FROM links JOIN link_statistics ON link_id = id "
		"WHERE %s$%d%s AND state <> 'DELETED' AND last_visited_at >= $%d::timestamptz) "
		"SELECT links.id, links.slug, links.title, humans, bots, uniques FROM "
		"(SELECT link_id, " STATISTICS_STATEMENT_SUMS " FROM (",
		query->link_ids ? "id = ANY ((SELECT " : "owner_id = ", links,
		query->link_ids ? "::bigint[])::bigint[])" : "::bigint", from);
	if (statement->needs_log)
		statistics_statement_add_visits(sql, column, &owned, statement, query->counted);
	else
		add_everything(sql, statement);
	int limit = visit_sql_int(sql, (int64_t)top->limit);
	visit_sql_add(sql,
	              ") AS everything GROUP BY link_id) AS sums JOIN links ON links.id = link_id "
	              "WHERE %s > 0 ORDER BY %s DESC, links.id LIMIT $%d::bigint",
	              rank, rank, limit);
}

static void begin_top(const struct statistics_statement *statement)
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
	link->sums = statistics_statement_sums(row, 3);
	return OK;
}

enum err statistics_sql_top(struct pg_conn *conn, struct statistics_query *query, size_t limit,
                            struct statistics_top *links, size_t *count)
{
	struct top top = { .limit = limit, .links = links };
	struct statistics_statement statement = { .query = query,
		                                  .unit = STATISTICS_TOTALS,
		                                  .needs_log = query->filter->count > 0,
		                                  .write = write_top,
		                                  .begin = begin_top,
		                                  .on_row = add_link,
		                                  .ctx = &top };
	enum err err = statistics_statement_run(conn, &statement);
	if (err == OK)
		*count = top.count;
	return err;
}
