#include "lib/clicks/visit_query.h"

#include "lib/base/clock.h"

#define SQL_BYTES_MAX 16384

void visit_query_init(struct visit_query *query)
{
	query->params = (struct pg_params){ 0 };
	query->reads_log = false;
	strbuf_init(&query->sql, SQL_BYTES_MAX);
}

void visit_query_clear(struct visit_query *query)
{
	strbuf_clear(&query->sql);
}

void visit_query_add(struct visit_query *query, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	strbuf_add_vformat(&query->sql, format, args);
	va_end(args);
}

int visit_query_int(struct visit_query *query, int64_t value)
{
	pg_params_int(&query->params, value);
	return query->params.count;
}

int visit_query_time(struct visit_query *query, int64_t time_us)
{
	pg_params_time(&query->params, time_us);
	return query->params.count;
}

int visit_query_day(struct visit_query *query, int32_t day)
{
	pg_params_day(&query->params, day);
	return query->params.count;
}

int visit_query_text(struct visit_query *query, const char *text)
{
	pg_params_text(&query->params, text);
	return query->params.count;
}

/* Values that one dimension may have are alternatives: "country IN ($1, $2)". */
static void add_alternatives(struct visit_query *query, const struct visit_filter *filter,
                             enum visit_dimension dimension)
{
	bool is_first = true;
	for (size_t i = 0; i < filter->count; i++) {
		const struct visit_filter_term *term = &filter->terms[i];
		if (term->dimension != dimension || term->is_not)
			continue;
		int value = visit_query_text(query, term->value);
		if (is_first)
			visit_query_add(query, " AND %s IN ($%d", visit_dimension_column(dimension), value);
		else
			visit_query_add(query, ", $%d", value);
		is_first = false;
	}
	if (!is_first)
		visit_query_add(query, ")");
}

static void add_terms(struct visit_query *query, const struct visit_filter *filter)
{
	for (enum visit_dimension d = 0; d < VISIT_DIMENSION_COUNT; d++)
		add_alternatives(query, filter, d);
	for (size_t i = 0; i < filter->count; i++) {
		const struct visit_filter_term *term = &filter->terms[i];
		if (term->is_not)
			visit_query_add(query, " AND %s <> $%d", visit_dimension_column(term->dimension),
			                visit_query_text(query, term->value));
	}
}

void visit_query_add_log(struct visit_query *query, const char *link, struct statistics_span span,
                         const struct visit_filter *filter)
{
	query->reads_log = true;
	int from = visit_query_time(query, span.from_us);
	int to = visit_query_time(query, span.to_us);
	/* The days spare the other partitions. */
	int first_day = visit_query_day(query, clock_utc_day(span.from_us));
	int last_day = visit_query_day(query, clock_utc_day(span.to_us - 1));
	visit_query_add(query,
	                " FROM visit_log WHERE link_id = %s AND occurred_at >= $%d::timestamptz "
	                "AND occurred_at < $%d::timestamptz AND day >= $%d::date AND day <= $%d::date",
	                link, from, to, first_day, last_day);
	add_terms(query, filter);
}

enum err visit_query_run(struct visit_query *query, struct pg_conn *conn, struct pg_result **rows)
{
	enum err err = strbuf_status(&query->sql);
	return err == OK ? pg_conn_query_once(conn, query->sql.data, &query->params, rows) : err;
}
