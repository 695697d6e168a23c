#include "services/links-api/statistics/statistics_statement.h"

/*
 * How often a query is tried if the visit log loses days in the meantime, which happens once a day.
 */
#define ATTEMPTS_MAX 3

/*
 * The planner would compare each element of an array with its statistics, but not those of a
 * subquery's.
 */
#define ONE_LINK "$1::bigint"
#define SOME_LINKS "ANY ((SELECT $1::bigint[])::bigint[])"

/* Those of an account. */
#define OWN_LINKS                                                                                  \
	"ANY (ARRAY(SELECT id FROM links WHERE owner_id = $1::bigint AND state <> 'DELETED'))"

const char *statistics_statement_links(const struct statistics_query *query)
{
	if (query->account_id != 0)
		return OWN_LINKS;
	return query->link_ids ? SOME_LINKS : ONE_LINK;
}

/* --- roll-ups of accounts --- */

/* More links than this that are to be added or subtracted are not worth it. */
#define MOVES_MAX "64"

/*
 * Links of the account whose rows may have to move: whose rows contain them (counted_for), and
 * whose should (owner).
 */
static const char noted_sql[] =
	"WITH noted AS MATERIALIZED (SELECT link_id, a.owner_id AS counted_for, rollup_owner(link_id) AS owner FROM "
	"(SELECT DISTINCT link_id FROM rollup_move WHERE owner_id = $1::bigint LIMIT " MOVES_MAX
	" + 1) AS move JOIN rollup_account AS a USING (link_id)) ";

/* The account's own rows, and those of links that are not part of them yet. */
#define ACCOUNT_FOLDED                                                                             \
	"ANY (ARRAY(SELECT -$1::bigint UNION ALL "                                                 \
	"SELECT link_id FROM noted WHERE owner = $1 AND counted_for <> $1))"
#define ACCOUNT_UNFOLDED                                                                           \
	"ANY (ARRAY(SELECT link_id FROM (SELECT DISTINCT link_id FROM rollup_delta) AS delta "     \
	"JOIN links ON id = link_id WHERE owner_id = $1 AND state <> 'DELETED'))"

struct rollup_sql_links statistics_statement_rollups(const struct statistics_statement *statement)
{
	const char *links = statistics_statement_links(statement->query);
	return statement->reads_account
	               ? (struct rollup_sql_links){ ACCOUNT_FOLDED, ACCOUNT_UNFOLDED }
	               : (struct rollup_sql_links){ links, links };
}

void statistics_statement_begin(struct visit_sql *sql, const struct statistics_statement *statement,
                                const char *row_of_nulls, bool *is_first)
{
	const struct statistics_query *query = statement->query;
	if (query->link_ids)
		visit_sql_column(sql, query->link_ids);
	else
		visit_sql_int(sql, query->account_id != 0 ? query->account_id : query->link_id);
	*is_first = !statement->reads_account;
	if (statement->reads_account)
		visit_sql_add(sql,
		              "%sSELECT %s WHERE EXISTS "
		              "(SELECT FROM noted WHERE owner <> $1 AND counted_for = $1) "
		              "OR (SELECT count(*) FROM noted) > " MOVES_MAX,
		              noted_sql, row_of_nulls);
}

/* --- running it --- */

/* The days of rollup_progress only move forward. A later statement finds what this one reports. */
static enum err read_reach(struct pg_conn *conn, struct statistics_query *query)
{
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(
		conn,
		"SELECT since::timestamp AT TIME ZONE 'UTC', nullif(hours_since, '-infinity')::timestamp AT TIME ZONE 'UTC', "
		"next_day::timestamp AT TIME ZONE 'UTC' FROM visit_log_reach, rollup_progress",
		NULL, &rows);
	if (err == OK)
		query->reach = (struct statistics_reach){
			.log_since_us = pg_result_time(rows, 0, 0),
			.hours_since_us = pg_result_time(rows, 0, 1),
			.finished_us = pg_result_time(rows, 0, 2),
		};
	pg_result_free(rows);
	return err;
}

/* An invalid row is a fault of what is stored, not of the request. */
static enum err add_row(void *ctx, const struct pg_result *row)
{
	const struct statistics_statement *statement = ctx;
	if (statement->reads_account && pg_result_is_null(row, 0, 0))
		return ERR_CONFLICT;
	enum err err = statement->on_row(statement->ctx, row);
	return err == ERR_INVALID ? ERR_INTERNAL : err;
}

static enum err run_once(struct pg_conn *conn, const struct statistics_statement *statement,
                         bool *reads_log)
{
	struct visit_sql sql;
	visit_sql_init(&sql);
	statement->write(&sql, statement);
	struct statistics_statement copy = *statement;
	enum err err = visit_sql_stream(&sql, conn, add_row, &copy);
	*reads_log = sql.reads_log;
	visit_sql_clear(&sql);
	return err;
}

enum err statistics_statement_run(struct pg_conn *conn,
                                  const struct statistics_statement *statement)
{
	struct statistics_query *query = statement->query;
	struct statistics_statement tried = *statement;
	tried.reads_account = query->account_id != 0 && !statement->needs_log;
	enum err err = read_reach(conn, query);
	for (int i = 0; err == OK && i < ATTEMPTS_MAX; i++) {
		if (statement->needs_log && query->requested.from_us < query->reach.log_since_us)
			return ERR_NOT_FOUND;
		query->counted = statistics_range_countable(query->requested, statement->unit,
		                                            &query->reach);
		statement->begin(statement);
		if (statistics_range_is_empty(&query->counted))
			return OK;
		bool reads_log = false;
		err = run_once(conn, &tried, &reads_log);
		if (err == ERR_CONFLICT && tried.reads_account) {
			tried.reads_account = false;
			err = OK;
			continue;
		}
		int64_t since_us = query->reach.log_since_us;
		if (err == OK && reads_log)
			err = statistics_sql_log_since(conn, &since_us);
		if (err == OK && since_us == query->reach.log_since_us)
			return OK;
		query->reach.log_since_us = since_us;
	}
	return err == OK ? ERR_UNAVAILABLE : err;
}

/* --- parts of it --- */

const char *statistics_statement_union(bool *is_first)
{
	bool was_first = *is_first;
	*is_first = false;
	return was_first ? "" : " UNION ALL ";
}

struct statistics_pieces statistics_statement_pieces(const struct statistics_statement *statement)
{
	return statistics_range_split(statement->query->counted, statement->unit,
	                              &statement->query->reach);
}

void statistics_statement_add_visits(struct visit_sql *sql, const char *columns, const char *link,
                                     const struct statistics_statement *statement,
                                     struct statistics_span span)
{
	visit_sql_add(sql, "SELECT %s" STATISTICS_STATEMENT_VISIT, columns);
	visit_sql_add_log(sql, link, span, statement->query->filter);
}

const char *statistics_statement_rank(enum visit_filter_traffic traffic)
{
	static const char *const ranks[] = {
		[VISIT_FILTER_HUMANS] = "humans",
		[VISIT_FILTER_ALL] = "humans + bots",
		[VISIT_FILTER_BOTS] = "bots",
	};
	return ranks[traffic];
}

struct statistics_sums statistics_statement_sums(const struct pg_result *row, int column)
{
	return (struct statistics_sums){
		.humans = pg_result_int(row, 0, column),
		.bots = pg_result_int(row, 0, column + 1),
		.uniques = pg_result_int(row, 0, column + 2),
	};
}
