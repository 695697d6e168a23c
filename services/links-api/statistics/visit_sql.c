#include "services/links-api/statistics/visit_sql.h"

#include "lib/base/clock.h"

#define SQL_BYTES_MAX 16384

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

static void add_terms(struct visit_sql *sql, const struct visit_filter *filter)
{
	for (enum visit_dimension d = 0; d < VISIT_DIMENSION_COUNT; d++)
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
	add_terms(sql, filter);
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

enum err visit_sql_stream(struct visit_sql *sql, struct pg_conn *conn, pg_conn_row_fn on_row,
                          void *ctx)
{
	enum err err = status_of(sql);
	return err == OK ? pg_conn_stream(conn, sql->text.data, &sql->params, on_row, ctx) : err;
}
