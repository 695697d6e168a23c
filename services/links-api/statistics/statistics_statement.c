#include "services/links-api/statistics/statistics_statement.h"

/*
 * How often a query is tried if the visit log loses days in the meantime, which happens once a day.
 */
#define ATTEMPTS_MAX 3

#define OF_LINKS(condition)                                                                        \
	{                                                                                          \
		"rollup_hour", "rollup_day", condition, condition, condition                       \
	}
static const struct rollup_sql_scope one_link = OF_LINKS("link_id = $1::bigint");
/*
 * The planner would compare each element of an array with its statistics, but not those of a
 * subquery's.
 */
static const struct rollup_sql_scope some_links =
	OF_LINKS("link_id = ANY ((SELECT $1::bigint[])::bigint[])");
static const struct rollup_sql_scope account = {
	.hours = "rollup_account_hour",
	.days = "rollup_account_day",
	.rows = "account_id = $1::bigint",
	.deltas = "owner_id = $1::bigint",
	.visits = "owner_id = $1::bigint AND owner_id <> 0", /* as its index */
};

const struct rollup_sql_scope *statistics_statement_begin(struct visit_sql *sql,
                                                          const struct statistics_query *query)
{
	if (query->link_ids) {
		visit_sql_column(sql, query->link_ids);
		return &some_links;
	}
	visit_sql_int(sql, query->account_id != 0 ? query->account_id : query->link_id);
	return query->account_id != 0 ? &account : &one_link;
}

/* --- running it --- */

/* The day of rollup_progress only moves forward. A later statement finds what this one reports. */
static enum err read_reach(struct pg_conn *conn, struct statistics_query *query)
{
	struct pg_result *rows = NULL;
	enum err err = pg_conn_query(
		conn,
		"SELECT since::timestamp AT TIME ZONE 'UTC', nullif(hours_since, '-infinity')::timestamp AT TIME ZONE 'UTC' "
		"FROM visit_log_reach, rollup_progress",
		NULL, &rows);
	if (err == OK)
		query->reach = (struct statistics_reach){
			.log_since_us = pg_result_time(rows, 0, 0),
			.hours_since_us = pg_result_time(rows, 0, 1),
		};
	pg_result_free(rows);
	return err;
}

/* An invalid row is a fault of what is stored, not of the request. */
static enum err add_row(void *ctx, const struct pg_result *row)
{
	const struct statistics_statement *statement = ctx;
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
		err = run_once(conn, statement, &reads_log);
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

void statistics_statement_add_visits(struct visit_sql *sql, const char *columns,
                                     const struct rollup_sql_scope *scope,
                                     const struct statistics_statement *statement,
                                     struct statistics_span span)
{
	visit_sql_add(sql, "SELECT %s" STATISTICS_STATEMENT_VISIT, columns);
	visit_sql_add_log(sql, scope->visits, span, statement->query->filter);
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
