#include "services/links-api/statistics/visit_sql.h"

#include "lib/base/clock.h"

#define SQL_BYTES_MAX 16384
/*
 * How often a query is tried if the visit log loses days in the meantime, which happens once a day.
 */
#define ATTEMPTS_MAX 3

/* One visit of the log in the columns of a roll-up. */
#define VISIT "(NOT is_bot)::int AS humans, is_bot::int AS bots, is_unique::int AS uniques"

void visit_sql_init(struct visit_sql *sql)
{
	sql->params = (struct pg_params){ 0 };
	sql->reads_log = false;
	sql->err = OK;
	strbuf_init(&sql->text, SQL_BYTES_MAX);
}

void visit_sql_clear(struct visit_sql *sql)
{
	strbuf_clear(&sql->text);
}

void visit_sql_add(struct visit_sql *sql, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	strbuf_add_vformat(&sql->text, format, args);
	va_end(args);
}

int visit_sql_int(struct visit_sql *sql, int64_t value)
{
	pg_params_int(&sql->params, value);
	return sql->params.count;
}

int visit_sql_time(struct visit_sql *sql, int64_t time_us)
{
	pg_params_time(&sql->params, time_us);
	return sql->params.count;
}

int visit_sql_day(struct visit_sql *sql, int32_t day)
{
	pg_params_day(&sql->params, day);
	return sql->params.count;
}

int visit_sql_text(struct visit_sql *sql, const char *text)
{
	pg_params_text(&sql->params, text);
	return sql->params.count;
}

int visit_sql_column(struct visit_sql *sql, struct sql_column *column)
{
	enum err err = sql_column_param(column, &sql->params);
	if (sql->err == OK)
		sql->err = err;
	return sql->params.count;
}

/* Values of one dimension are alternatives: "country IN ($1, $2)". */
static void add_alternatives(struct visit_sql *sql, const struct visit_filter *filter,
                             enum visit_dimension dimension)
{
	bool is_first = true;
	for (size_t i = 0; i < filter->count; i++) {
		const struct visit_filter_term *term = &filter->terms[i];
		if (term->dimension != dimension || term->is_not)
			continue;
		int value = visit_sql_text(sql, term->value);
		if (is_first)
			visit_sql_add(sql, " AND %s IN ($%d", visit_dimension_name(dimension),
			              value);
		else
			visit_sql_add(sql, ", $%d", value);
		is_first = false;
	}
	if (!is_first)
		visit_sql_add(sql, ")");
}

void visit_sql_add_terms(struct visit_sql *sql, const struct visit_filter *filter)
{
	for (enum visit_dimension d = VISIT_DIMENSION_FIRST; d < VISIT_DIMENSION_END; d++)
		add_alternatives(sql, filter, d);
	for (size_t i = 0; i < filter->count; i++) {
		const struct visit_filter_term *term = &filter->terms[i];
		if (term->is_not)
			visit_sql_add(sql, " AND %s <> $%d", visit_dimension_name(term->dimension),
			              visit_sql_text(sql, term->value));
	}
}

void visit_sql_add_log(struct visit_sql *sql, const char *condition, struct statistics_span span,
                       const struct visit_filter *filter)
{
	sql->reads_log = true;
	int from = visit_sql_time(sql, span.from_us);
	int to = visit_sql_time(sql, span.to_us);
	/* The conditions on day exclude the other partitions. */
	int first_day = visit_sql_day(sql, clock_utc_day(span.from_us));
	int last_day = visit_sql_day(sql, clock_utc_day(span.to_us - 1));
	visit_sql_add(
		sql,
		" FROM visit_log WHERE %s AND occurred_at >= $%d::timestamptz "
		"AND occurred_at < $%d::timestamptz AND day >= $%d::date AND day <= $%d::date",
		condition, from, to, first_day, last_day);
	visit_sql_add_terms(sql, filter);
}

static enum err status_of(const struct visit_sql *sql)
{
	return sql->err == OK ? strbuf_status(&sql->text) : sql->err;
}

enum err visit_sql_run(struct visit_sql *sql, struct pg_conn *conn, struct pg_result **rows)
{
	enum err err = status_of(sql);
	return err == OK ? pg_conn_query_once(conn, sql->text.data, &sql->params, rows) : err;
}

/* --- whose visits are counted --- */

#define BY_DAY(name, rows)                                                                         \
	{                                                                                          \
		name, rows, "day", "date", "(day - date '1970-01-01') * 86400::bigint",            \
			"day::timestamp AT TIME ZONE 'UTC'", CLOCK_US_PER_DAY                      \
	}
#define BY_HOUR(name, rows)                                                                        \
	{                                                                                          \
		name, rows, "hour", "timestamptz", "extract(epoch FROM hour)::bigint",             \
			"date_trunc('day', hour, 'UTC')", CLOCK_US_PER_HOUR                        \
	}

#define OF_LINKS(condition)                                                                        \
	{                                                                                          \
		BY_DAY("rollup_day", condition), BY_HOUR("rollup_hour", condition),                \
			BY_HOUR("rollup_delta", condition), condition                              \
	}
static const struct visit_sql_scope one_link = OF_LINKS("link_id = $1::bigint");
/*
 * The planner would compare each element of an array with its statistics, but not those of a
 * subquery's.
 */
static const struct visit_sql_scope some_links =
	OF_LINKS("link_id = ANY ((SELECT $1::bigint[])::bigint[])");
const struct visit_sql_scope visit_sql_owned_links =
	OF_LINKS("link_id = ANY (ARRAY(SELECT id FROM owned))");
static const struct visit_sql_scope account = {
	.days = BY_DAY("rollup_workspace_day", "workspace_id = $1::bigint"),
	.hours = BY_HOUR("rollup_workspace_hour", "workspace_id = $1::bigint"),
	.deltas = BY_HOUR("rollup_delta", "workspace_id = $1::bigint"),
	.visits = "workspace_id = $1::bigint AND workspace_id <> 0", /* as its index */
};

const struct visit_sql_scope *visit_sql_add_scope(struct visit_sql *sql,
                                                  const struct statistics_query *query)
{
	if (query->link_ids) {
		visit_sql_column(sql, query->link_ids);
		return &some_links;
	}
	visit_sql_int(sql, query->workspace_id != 0 ? query->workspace_id : query->link_id);
	return query->workspace_id != 0 ? &account : &one_link;
}

struct statistics_pieces visit_sql_pieces(const struct visit_sql_statement *statement)
{
	const struct statistics_query *query = statement->query;
	if (statement->needs_log)
		return (struct statistics_pieces){ .of = { { STATISTICS_LOG, query->counted } },
			                           .count = 1 };
	return statistics_range_split(query->counted, statement->unit, &query->reach);
}

void visit_sql_add_visits(struct visit_sql *sql, const char *columns,
                          const struct visit_sql_scope *scope,
                          const struct visit_sql_statement *statement, struct statistics_span span)
{
	visit_sql_add(sql, "SELECT %s" VISIT, columns);
	visit_sql_add_log(sql, scope->visits, span, statement->query->filter);
}

/* Buckets that have a part of the span. */
static struct statistics_span widened(struct statistics_span span, int64_t bucket_us)
{
	span.from_us -= span.from_us % bucket_us;
	span.to_us += (bucket_us - span.to_us % bucket_us) % bucket_us;
	return span;
}

void visit_sql_add_rows(struct visit_sql *sql, const struct visit_sql_table *table,
                        const char *joined, struct statistics_span span)
{
	bool is_day = table->bucket_us == CLOCK_US_PER_DAY;
	span = widened(span, table->bucket_us);
	int from = is_day ? visit_sql_day(sql, clock_utc_day(span.from_us))
	                  : visit_sql_time(sql, span.from_us);
	int to = is_day ? visit_sql_day(sql, clock_utc_day(span.to_us))
	                : visit_sql_time(sql, span.to_us);
	visit_sql_add(sql, " FROM %s%s WHERE %s AND %s >= $%d::%s AND %s < $%d::%s", table->name,
	              joined, table->rows, table->key, from, table->type, table->key, to,
	              table->type);
}

void visit_sql_add_piece(struct visit_sql *sql, const char *columns,
                         const struct visit_sql_scope *scope, const struct statistics_piece *piece)
{
	visit_sql_add(sql, "SELECT %s", columns);
	visit_sql_add_rows(sql, piece->source == STATISTICS_HOURS ? &scope->hours : &scope->days,
	                   "", piece->span);
	visit_sql_add(sql, " UNION ALL SELECT %s", columns);
	visit_sql_add_rows(sql, &scope->deltas, "", piece->span);
}

const char *visit_sql_rank(enum visit_filter_traffic traffic)
{
	static const char *const ranks[] = {
		[VISIT_FILTER_HUMANS] = "humans",
		[VISIT_FILTER_ALL] = "humans + bots",
		[VISIT_FILTER_BOTS] = "bots",
	};
	return ranks[traffic];
}

struct statistics_sums visit_sql_sums(const struct pg_result *row, int column)
{
	return (struct statistics_sums){
		.humans = pg_result_int(row, 0, column),
		.bots = pg_result_int(row, 0, column + 1),
		.uniques = pg_result_int(row, 0, column + 2),
	};
}

/* --- a statement --- */

enum err visit_sql_log_since(struct pg_conn *conn, int64_t *since_us)
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

static enum err run_once(struct pg_conn *conn, const struct visit_sql_statement *statement,
                         bool *reads_log)
{
	struct visit_sql sql;
	visit_sql_init(&sql);
	statement->write(&sql, statement);
	enum err err = status_of(&sql);
	if (err == OK)
		err = pg_conn_stream(conn, sql.text.data, &sql.params, statement->on_row,
		                     statement->ctx);
	*reads_log = sql.reads_log;
	visit_sql_clear(&sql);
	/* An invalid row is a fault of what is stored, not of the request. */
	return err == ERR_INVALID ? ERR_INTERNAL : err;
}

enum err visit_sql_run_statement(struct pg_conn *conn, const struct visit_sql_statement *statement)
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
			err = visit_sql_log_since(conn, &since_us);
		if (err == OK && since_us == query->reach.log_since_us)
			return OK;
		query->reach.log_since_us = since_us;
	}
	return err == OK ? ERR_UNAVAILABLE : err;
}
